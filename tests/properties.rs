//! Properties over generated JSON: what nobody touches keeps its bytes, and what is edited equals the edit of a
//! `serde_json::Value`.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test itself may"
)]

use mcp_interceptors::{
    BoxError,
    chain::{Chain, Side},
    intercept::InterceptorLayer,
    interceptor::Interceptor,
    message::{Id, JsonKind, Message, Payload, View},
    mutation::MutationLayer,
    reply::{Body, Reply},
    sink::SinkLayer,
    validation::ValidationLayer,
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use tower::{Layer, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

/// JSON with its spelling.
#[derive(Clone, Debug)]
enum Tree {
    Scalar(String),
    Array(Vec<(Tree, &'static str)>),
    /// Keys are numbered where they are written, so that none is there twice.
    Object(Vec<(Tree, &'static str, bool)>),
}

fn blank() -> impl Strategy<Value = &'static str> {
    select(&["", "", "", " ", "\t", "\r\n", "  \n"][..])
}

/// What strings are made of, as it is written.
const PIECES: &[&str] = &[
    "a",
    "A",
    "B c",
    r"\u0041",
    r"\/",
    "é",
    "😀",
    r"\ud83d\ude00",
    r"\n",
    r#"\""#,
    r"\\",
    r"\u0000",
    "{",
    "]",
    ":",
    ",",
];

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-0.0",
    "1",
    "1.0",
    "1.10",
    "1e2",
    "1E+2",
    "9007199254740993",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
];

/// With `odd` also what `serde_json::Value` does not hold.
fn scalar(odd: bool) -> impl Strategy<Value = String> {
    let mut pieces = PIECES.to_vec();
    let mut numbers = NUMBERS.to_vec();
    if odd {
        pieces.extend([r"\ud800", r"\uDC00x"]);
        numbers.push("1e400");
    }
    prop_oneof![
        select(numbers).prop_map(str::to_owned),
        prop::collection::vec(select(pieces), 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat())),
        select(&["true", "false", "null"][..]).prop_map(str::to_owned),
    ]
}

fn tree(odd: bool) -> impl Strategy<Value = Tree> {
    scalar(odd)
        .prop_map(Tree::Scalar)
        .prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec((inner.clone(), blank()), 0..5).prop_map(Tree::Array),
                prop::collection::vec((inner, blank(), any::<bool>()), 0..5).prop_map(Tree::Object),
            ]
        })
}

fn object(odd: bool) -> impl Strategy<Value = Tree> {
    prop::collection::vec((tree(odd), blank(), any::<bool>()), 0..5).prop_map(Tree::Object)
}

impl Tree {
    fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Array(items) => {
                out.push('[');
                for (index, (item, blank)) in items.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    out.push_str(&format!("{comma}{blank}"));
                    item.write(out);
                    out.push_str(blank);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (value, blank, escaped)) in members.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    // `k0`, `k/1`, or the same with escapes.
                    let key = match (index % 2, escaped) {
                        (0, false) => format!("k{index}"),
                        (0, true) => format!("\\u006b{index}"),
                        (_, false) => format!("k/{index}"),
                        (_, true) => format!("k\\/{index}"),
                    };
                    out.push_str(&format!("{comma}{blank}\"{key}\"{blank}:{blank}"));
                    value.write(out);
                    out.push_str(blank);
                }
                out.push('}');
            }
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

fn id() -> impl Strategy<Value = String> {
    select(
        &[
            "1",
            "1.0",
            "-0",
            "1e2",
            "9007199254740993",
            r#""""#,
            r#""a""#,
            r#""\u0041\/""#,
            r#""é😀""#,
        ][..],
    )
    .prop_map(str::to_owned)
}

/// The members of a message in any order, with blanks between them and one that nobody knows.
fn message(members: Vec<(&'static str, String)>, odd: bool) -> impl Strategy<Value = String> {
    let mut members: Vec<(String, String)> = members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    members.push((r#""jsonrpc""#.into(), r#""2.0""#.into()));
    (tree(odd), blank(), blank()).prop_flat_map(move |(unknown, inside, outside)| {
        let mut members = members.clone();
        members.push((r#""x-vendor""#.into(), unknown.text()));
        Just(members).prop_shuffle().prop_map(move |members| {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{inside}{key}{inside}:{inside}{value}{inside}"))
                .collect();
            format!("{outside}{{{}}}{outside}", members.join(","))
        })
    })
}

/// A request of `tools/call`, however that is spelled, with any params or none.
fn request(odd: bool) -> impl Strategy<Value = String> {
    let method = select(&[r#""tools/call""#, r#""tools\/call""#, r#""\u0074ools/call""#][..]);
    let params = (object(odd), select(&["x", "null", ""][..]), any::<bool>());
    (id(), method, params).prop_flat_map(move |(id, method, (params, none, named))| {
        let mut members = vec![(r#""id""#, id), (r#""method""#, method.to_owned())];
        match none {
            "null" => members.push((r#""params""#, "null".into())),
            "" => {}
            _ if named => {
                let text = params.text();
                let rest = text[1..].trim_start();
                let comma = if rest.starts_with('}') { "" } else { "," };
                let head = r#"{"name":"t\u006fol","uri" : "a:b","_meta":{ "progressToken":1.50}"#;
                members.push((r#""params""#, format!("{head}{comma}{rest}")));
            }
            _ => members.push((r#""params""#, params.text())),
        }
        message(members, odd)
    })
}

/// An answer to the request `1`.
fn answer(odd: bool) -> impl Strategy<Value = String> {
    (tree(odd), select(&["1", "1.0", "10e-1"][..])).prop_flat_map(move |(result, id)| {
        message(
            vec![(r#""id""#, id.to_owned()), (r#""result""#, result.text())],
            odd,
        )
    })
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Every pointer there is into a value, the empty one first.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, out: &mut Vec<String>) {
        out.push(at.to_owned());
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{at}/{index}"), out);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    walk(
                        member,
                        &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                        out,
                    );
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    out
}

/// The raw texts of all numbers, in order.
fn numbers(view: View<'_>) -> Vec<String> {
    match view.kind() {
        JsonKind::Number => vec![view.raw().to_owned()],
        JsonKind::Array => view.items().flat_map(numbers).collect(),
        JsonKind::Object => view.members().flat_map(|(_, member)| numbers(member)).collect(),
        _ => Vec::new(),
    }
}

/// Whether `new` is `old` with one range replaced by `by` bytes at most.
fn one_splice(old: &str, new: &str, by: usize) -> bool {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let shorter = old.len().min(new.len());
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let suffix = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    prefix + suffix.min(shorter - prefix) + by >= new.len()
}

/// Interceptors on everything, in both phases, that change nothing.
fn idle_on_everything() -> Chain {
    Chain::builder()
        .interceptor(
            Interceptor::mutator("m")
                .on("*")
                .both()
                .handler(|| async { None::<Payload> }),
        )
        .interceptor(
            Interceptor::mutator("n")
                .on("*")
                .both()
                .handler(|payload: Payload| async { Some(payload) }),
        )
        .interceptor(
            Interceptor::validator("v")
                .on("*")
                .both()
                .handler(|| async { true }),
        )
        .interceptor(Interceptor::sink("s").on("*").both().handler(|| async {}))
        .build()
        .unwrap()
}

fn on_nothing() -> Chain {
    let other = Interceptor::validator("v").on("prompts/get").request();
    Chain::builder()
        .interceptor(other.handler(|| async { false }))
        .build()
        .unwrap()
}

type Stack = BoxCloneSyncService<Message, Reply, BoxError>;

/// What the backend got and what the client got, as text.
async fn through(chain: &Chain, layers: usize, message: &str, reply: &str) -> (String, String) {
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let reply = Message::parse(reply.to_owned()).unwrap();
    let backend = tower::service_fn(move |message: Message| {
        sender.send(message.as_json().to_owned()).unwrap();
        let reply = reply.clone();
        async move { Ok::<_, BoxError>(Reply::one(reply)) }
    });
    let service: Stack = match layers {
        0 => BoxCloneSyncService::new(InterceptorLayer::client_side(chain).layer(backend)),
        1 => BoxCloneSyncService::new(InterceptorLayer::on(Side::Server, chain).layer(backend)),
        _ => BoxCloneSyncService::new(
            ServiceBuilder::new()
                .layer(MutationLayer::new(chain))
                .layer(ValidationLayer::new(chain))
                .layer(SinkLayer::new(chain))
                .service(backend),
        ),
    };
    let Body::One(reply) = service
        .oneshot(Message::parse(message.to_owned()).unwrap())
        .await
        .unwrap()
        .body
    else {
        panic!("one answer")
    };
    (seen.recv().await.unwrap(), reply.as_json().to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_pass_a_full_stack_byte_for_byte(text in request(true), reply in answer(true)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        // The answer is to the request `1`.
        let request = Message::parse(text).unwrap().with_id(&Id::from(1)).unwrap().as_json().to_owned();
        for chain in [idle_on_everything(), on_nothing()] {
            for layers in 0..3 {
                let (seen, got) = runtime.block_on(through(&chain, layers, &request, &reply));
                prop_assert_eq!(&seen, &request);
                prop_assert_eq!(&got, &reply);
            }
        }
    }

    #[test]
    fn the_parts_of_a_request_are_those_of_its_value(text in request(false)) {
        let message = Message::parse(text.clone()).unwrap();
        let whole = value(&text);
        prop_assert_eq!(message.as_json(), &text);
        prop_assert_eq!(message.method(), whole["method"].as_str());
        prop_assert!(message.is_request("tools/call"));
        prop_assert_eq!(value(message.id().unwrap().as_json()), whole["id"].clone());
        prop_assert_eq!(message.name(), whole["params"]["name"].as_str());
        prop_assert_eq!(message.uri(), whole["params"]["uri"].as_str());
        let token = &whole["params"]["_meta"]["progressToken"];
        prop_assert_eq!(message.progress_token().map_or(Value::Null, value), token.clone());
        let params = whole.get("params");
        prop_assert_eq!(message.payload().is_present(), params.is_some());
        let empty = json!({});
        prop_assert_eq!(&value(message.payload().as_json()), params.unwrap_or(&empty));
        prop_assert_eq!(message.payload().value().unwrap(), params.unwrap_or(&empty));
        // Its payload is there in the text, word for word.
        if params.is_some() {
            prop_assert!(text.contains(message.payload().as_json()));
        }
    }

    #[test]
    fn an_answer_keeps_the_spelling_of_the_id(text in request(false), new in id()) {
        let message = Message::parse(text.clone()).unwrap();
        let id = message.id().unwrap();
        prop_assert!(text.contains(id.as_json()));
        let reply = message.answer(Ok(&json!({"a": 1}))).unwrap();
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1}}}}"#);
        prop_assert_eq!(reply.as_json(), expected);
        // And a link may replace it, and put it back exactly.
        let new = Id::from_json(&new).unwrap();
        let renamed = message.with_id(&new).unwrap();
        let mut expected = value(&text);
        expected["id"] = value(new.as_json());
        prop_assert_eq!(value(renamed.as_json()), expected);
        prop_assert!(one_splice(&text, renamed.as_json(), new.as_json().len()));
        let restored = renamed.with_id(&id).unwrap();
        prop_assert_eq!(restored.as_json(), text);
    }

    #[test]
    fn set_and_replace_equal_the_edit_of_a_value(tree in tree(false), at in any::<prop::sample::Index>(), new in scalar(false)) {
        let text = tree.text();
        let mut expected = value(&text);
        let pointers = pointers(&expected);
        let pointer = at.get(&pointers);
        let new: Box<serde_json::value::RawValue> = serde_json::from_str(&new).unwrap();
        *expected.pointer_mut(pointer).unwrap() = value(new.get());
        let payload = Payload::from_json(text.clone()).unwrap();
        let start = {
            let view = payload.get(pointer).unwrap().unwrap();
            let start = view.raw().as_ptr() as usize - payload.as_json().as_ptr() as usize;
            start..start + view.raw().len()
        };
        let exact = format!("{}{}{}", &text[..start.start], new.get(), &text[start.end..]);
        for replace in [false, true] {
            let mut payload = payload.clone();
            match replace {
                true => payload.replace(pointer, &new).unwrap(),
                false => payload.set(pointer, &new).unwrap(),
            }
            prop_assert_eq!(payload.as_json(), &exact);
            prop_assert_eq!(&value(payload.as_json()), &expected);
        }
        // The original is as it was.
        prop_assert_eq!(payload.as_json(), text);
    }

    #[test]
    fn set_adds_and_remove_takes_away(tree in tree(false), at in any::<prop::sample::Index>()) {
        let text = tree.text();
        let mut expected = value(&text);
        let pointers = pointers(&expected);
        let pointer = at.get(&pointers).clone();
        let mut payload = Payload::from_json(text.clone()).unwrap();
        // Something new inside of it.
        let inside = match expected.pointer_mut(&pointer).unwrap() {
            Value::Array(items) => {
                items.push(json!("new"));
                Some("-")
            }
            Value::Object(members) => {
                members.insert("new\"/~".into(), json!("new"));
                Some("new\"~1~0")
            }
            _ => None,
        };
        let before = payload.as_json().to_owned();
        match inside {
            Some(inside) => {
                payload.set(&format!("{pointer}/{inside}"), "new").unwrap();
                prop_assert!(one_splice(&before, payload.as_json(), 24));
            }
            None => {
                let nowhere = format!("{pointer}/new");
                prop_assert!(payload.set(&nowhere, "new").is_err());
            },
        }
        prop_assert_eq!(&value(payload.as_json()), &expected);
        let absent = format!("{pointer}/absent");
        prop_assert!(payload.replace(&absent, "x").is_err());
        // And the whole of it gone.
        let before = payload.as_json().to_owned();
        let Some((parent, last)) = pointer.rsplit_once('/') else {
            prop_assert!(payload.remove("").is_err());
            return Ok(());
        };
        match expected.pointer_mut(parent).unwrap() {
            Value::Array(items) => drop(items.remove(last.parse().unwrap())),
            Value::Object(members) => drop(members.remove(&last.replace("~1", "/").replace("~0", "~"))),
            other => panic!("{other:?}"),
        }
        prop_assert!(payload.remove(&pointer).unwrap());
        prop_assert_eq!(&value(payload.as_json()), &expected);
        prop_assert!(one_splice(&before, payload.as_json(), 0));
    }

    #[test]
    fn edit_strings_shows_every_string_value_and_touches_nothing_else(tree in tree(false)) {
        fn edit(value: &mut Value) {
            match value {
                Value::String(text) if text.contains('A') => *text = text.replace('A', "<\"cut\">"),
                Value::Array(items) => items.iter_mut().for_each(edit),
                Value::Object(members) => members.values_mut().for_each(edit),
                _ => {}
            }
        }
        let text = tree.text();
        let mut expected = value(&text);
        edit(&mut expected);
        let original = Payload::from_json(text.clone()).unwrap();
        let mut payload = original.clone();
        let changed = payload
            .edit_strings(|text| text.contains('A').then(|| text.replace('A', "<\"cut\">")))
            .unwrap();
        prop_assert_eq!(&value(payload.as_json()), &expected);
        prop_assert_eq!(changed, expected != value(&text));
        let (before, after) = (original.view().unwrap(), payload.view().unwrap());
        prop_assert_eq!(numbers(after), numbers(before));
        if !changed {
            prop_assert_eq!(payload.as_json(), &text);
        }
        let mut same = original;
        prop_assert!(!same.edit_strings(|text| Some(text.to_owned())).unwrap());
        prop_assert_eq!(same.as_json(), text);
    }

    #[test]
    fn with_payload_replaces_the_payload_alone(text in request(false), new in object(false)) {
        let message = Message::parse(text.clone()).unwrap();
        let mut expected = value(&text);
        let new = Payload::from_json(new.text()).unwrap();
        let was_absent = expected.get("params").is_none();
        expected["params"] = value(new.as_json());
        let changed = message.clone().with_payload(&new).unwrap();
        if was_absent && new.as_json() == "{}" {
            prop_assert_eq!(changed.as_json(), &text);
        } else {
            prop_assert_eq!(value(changed.as_json()), expected);
            prop_assert!(one_splice(&text, changed.as_json(), new.as_json().len() + 10));
            prop_assert_eq!(changed.payload().as_json(), new.as_json());
        }
        // The same payload changes nothing.
        let same = message.clone().with_payload(&message.payload().detached()).unwrap();
        prop_assert_eq!(same.as_json(), text);
    }

    #[test]
    fn a_reserialised_payload_laid_over_its_original_changes_only_what_differs(
        tree in tree(false), at in any::<prop::sample::Index>()
    ) {
        let text = tree.text();
        let original = Payload::from_json(text.clone()).unwrap();
        let mut answer = value(&text);
        let same = Payload::from_value(&answer).unwrap();
        let laid = original.overlaid_with(&same).unwrap();
        prop_assert_eq!(laid.as_json(), &text);
        let pointers = pointers(&answer);
        let pointer = at.get(&pointers);
        *answer.pointer_mut(pointer).unwrap() = json!("***");
        let changed = original.overlaid_with(&Payload::from_value(&answer).unwrap()).unwrap();
        let mut expected = original;
        expected.set(pointer, "***").unwrap();
        prop_assert_eq!(changed.as_json(), expected.as_json());
    }
}
