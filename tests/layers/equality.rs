//! Generated scenarios: the fused layer and the three stacked by hand do the same and say the same.

use std::{collections::BTreeMap, sync::Arc};

use mcp_interceptors::{
    BoxError,
    chain::{Chain, Side},
    interceptor::{Interceptor, Invocation, Mode, MutationResult, Outcome, ValidationResult},
    message::{Asked, Era, Id, Kind, Message, Payload},
    reply::Reply,
};
use proptest::prelude::*;
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::support::{Build, CALL, Log, SAMPLING, answer, call, drain, many, notification, sampling, stack};

const PROGRESS: &str = "notifications/progress";
const EVENTS: [&str; 4] = [CALL, SAMPLING, PROGRESS, "*"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Mutator,
    Validator,
    Sink,
}

#[derive(Clone, Copy, Debug)]
enum Behaviour {
    Passes,
    /// Changes the payload, refuses, or answers that it has not recorded.
    Acts,
    Crashes,
}

#[derive(Clone, Debug)]
struct Member {
    kind: Type,
    event: &'static str,
    request: bool,
    response: bool,
    behaviour: Behaviour,
    audit: bool,
    fail_open: bool,
    errors: bool,
    priority: i32,
}

#[derive(Clone, Copy, Debug)]
enum Traffic {
    Call,
    /// A stream: a notification, a server request, the answer.
    Stream,
    ErrorAnswer,
    Notification,
    /// The client's answer to a server's request.
    ClientAnswer,
    Listen,
    UnreadableCall,
    UnreadableAnswer,
}

fn member() -> impl Strategy<Value = Member> {
    (
        prop_oneof![Just(Type::Mutator), Just(Type::Validator), Just(Type::Sink)],
        proptest::sample::select(&EVENTS[..]),
        prop_oneof![Just((true, false)), Just((false, true)), Just((true, true))],
        prop_oneof![
            4 => Just(Behaviour::Passes), 2 => Just(Behaviour::Acts), 1 => Just(Behaviour::Crashes)
        ],
        (prop::bool::weighted(0.2), any::<bool>(), any::<bool>()),
        -2..3,
    )
        .prop_map(
            |(kind, event, (request, response), behaviour, (audit, fail_open, errors), priority)| Member {
                kind,
                event,
                request,
                response,
                behaviour,
                audit,
                fail_open,
                errors,
                priority,
            },
        )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    prop_oneof![
        Just(Traffic::Call),
        Just(Traffic::Stream),
        Just(Traffic::ErrorAnswer),
        Just(Traffic::Notification),
        Just(Traffic::ClientAnswer),
        Just(Traffic::Listen),
        Just(Traffic::UnreadableCall),
        Just(Traffic::UnreadableAnswer),
    ]
}

fn interceptor(index: usize, member: &Member, path: &Log, off_path: &Log) -> Interceptor {
    macro_rules! build {
        ($builder:expr, $answer:expr) => {{
            let hook = $builder.on(member.event);
            let mut builder = match (member.request, member.response) {
                (true, true) => hook.both(),
                (true, false) => hook.request(),
                _ => hook.response(),
            };
            if member.audit {
                builder = builder.mode(Mode::Audit);
            }
            if member.fail_open {
                builder = builder.fail_open();
            }
            if member.errors {
                builder = builder.errors();
            }
            let note = if member.audit || member.kind == Type::Sink {
                off_path.clone()
            } else {
                path.clone()
            };
            let behaviour = member.behaviour;
            builder
                .priority(member.priority)
                .service(tower::service_fn(move |invocation: Invocation| {
                    note.push(format!(
                        "{} {} {} {} {}",
                        invocation.name,
                        invocation.event,
                        invocation.phase,
                        invocation.is_error,
                        invocation.payload.as_json()
                    ));
                    let answer = match behaviour {
                        Behaviour::Crashes => Err("boom".into()),
                        Behaviour::Acts => $answer(index, &invocation.payload, true),
                        Behaviour::Passes => $answer(index, &invocation.payload, false),
                    };
                    async move { answer }
                }))
        }};
    }
    let name = format!("i{index}");
    type Answer = Result<Outcome, BoxError>;
    match member.kind {
        Type::Mutator => build!(Interceptor::mutator(name), |index: usize,
                                                             payload: &Payload,
                                                             acts: bool|
         -> Answer {
            if !acts {
                return Ok(MutationResult::unmodified().into());
            }
            let mut payload = payload.clone();
            payload.set(&format!("/by{index}"), &true)?;
            Ok(MutationResult::edited(payload).into())
        }),
        Type::Validator => build!(Interceptor::validator(name), |index: usize,
                                                                 _: &Payload,
                                                                 acts: bool|
         -> Answer {
            Ok(match acts {
                true => ValidationResult::fail(format!("refused by {index}")).into(),
                false => ValidationResult::pass().into(),
            })
        }),
        Type::Sink => build!(Interceptor::sink(name), |_: usize,
                                                       _: &Payload,
                                                       acts: bool|
         -> Answer {
            Ok(match acts {
                true => mcp_interceptors::interceptor::SinkResult::skipped().into(),
                false => mcp_interceptors::interceptor::SinkResult::recorded().into(),
            })
        }),
    }
}

fn chain(members: &[Member], path: &Log, off_path: &Log) -> Chain {
    let interceptors = members
        .iter()
        .enumerate()
        .map(|(index, member)| interceptor(index, member, path, off_path));
    Chain::builder().interceptors(interceptors).build().unwrap()
}

fn unreadable_answer() -> Message {
    Message::parse(r#"{"jsonrpc":"2.0","id":7,"result":{"x":{"a":1,"a":2}}}"#).unwrap()
}

fn message(traffic: Traffic) -> Message {
    match traffic {
        Traffic::Call | Traffic::Stream | Traffic::ErrorAnswer | Traffic::UnreadableAnswer => call(),
        Traffic::UnreadableCall => Message::parse(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","x":{"a":1,"a":2}}}"#,
        )
        .unwrap(),
        Traffic::Notification => notification(PROGRESS),
        Traffic::Listen => Message::listen(),
        Traffic::ClientAnswer => Message::response(&Id::from(900), &serde_json::json!({"role": "user"}))
            .unwrap()
            .with_in_reply_to(Arc::new(Asked::new(SAMPLING, Some(Id::from(900)), Era::Legacy))),
    }
}

fn reply(traffic: Traffic, message: &Message) -> Reply {
    match (traffic, message.kind()) {
        (Traffic::Stream, Kind::Request) => many([notification(PROGRESS), sampling(), answer()]),
        (Traffic::Listen, Kind::Listen) => many([sampling(), notification(PROGRESS), answer()]),
        (Traffic::ErrorAnswer, Kind::Request) => {
            let error = mcp_interceptors::message::ErrorObject::new(-1, "an error");
            Reply::one(Message::error(Some(&Id::from(7)), &error))
        }
        (Traffic::UnreadableAnswer, Kind::Request) => Reply::one(unreadable_answer()),
        (_, Kind::Request) => Reply::one(answer()),
        _ => Reply::accepted(),
    }
}

/// A text with decision ids, which differ from run to run, taken out.
fn without_decisions(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    // Sixteen hexadecimal digits, a dash, a number.
    while let Some(dash) = rest.find('-') {
        let (head, tail) = rest.split_at(dash);
        let is_id = head.len() >= 16
            && head.is_char_boundary(head.len() - 16)
            && head[head.len() - 16..]
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit());
        if is_id {
            out.push_str(&head[..head.len() - 16]);
            out.push_str("<decision>");
            rest = tail[1..].trim_start_matches(|digit: char| digit.is_ascii_digit());
        } else {
            out.push_str(head);
            out.push('-');
            rest = &tail[1..];
        }
    }
    out + rest
}

#[derive(Debug, PartialEq)]
struct Seen {
    /// Active interceptors, in the order in which they ran.
    path: Vec<String>,
    /// Sinks, each with its events in order.
    off_path: BTreeMap<String, Vec<String>>,
    /// What the backend got; the answers to blocked server requests, which a task of their own brings, apart.
    backend: Vec<String>,
    answers: Vec<String>,
    replies: Vec<String>,
}

async fn run(build: Build, side: Side, members: &[Member], traffic: Traffic) -> Seen {
    let (path, off_path) = (Log::default(), Log::default());
    let chain = chain(members, &path, &off_path);
    let (sender, mut received) = mpsc::unbounded_channel();
    let backend = tower::service_fn(move |message: Message| {
        sender.send(message.clone()).unwrap();
        let reply = reply(traffic, &message);
        async move { Ok::<_, BoxError>(reply) }
    });
    let service = stack(build, side, &chain, backend);
    let replies = match service.oneshot(message(traffic)).await {
        Ok(reply) => drain(reply).await,
        Err(error) => panic!("{error}"),
    };
    let replies: Vec<_> = replies
        .iter()
        .map(|message| without_decisions(message.as_json()))
        .collect();
    chain.flush().await;
    // Tasks that answer the server hold a sender; with the last one gone this ends.
    let (mut backend, mut answers) = (Vec::new(), Vec::new());
    while let Some(message) = received.recv().await {
        let text = without_decisions(message.as_json());
        match message.is_made_by_stack() && !matches!(traffic, Traffic::ClientAnswer) {
            true => answers.push(text),
            false => backend.push(text),
        }
    }
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in off_path.take() {
        let (name, rest) = entry.split_once(' ').unwrap();
        by_name.entry(name.into()).or_default().push(rest.into());
    }
    Seen {
        path: path.take(),
        off_path: by_name,
        backend,
        answers,
        replies,
    }
}

fn check(side: Side, members: &[Member], traffic: Traffic) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (fused, by_hand) = runtime.block_on(async {
        (
            run(Build::Fused, side, members, traffic).await,
            run(Build::ByHand, side, members, traffic).await,
        )
    });
    prop_assert_eq!(fused, by_hand);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_client_sides_layers_are_equal(members in prop::collection::vec(member(), 1..6), traffic in traffic()) {
        check(Side::Client, &members, traffic)?;
    }

    #[test]
    fn the_server_sides_layers_are_equal(members in prop::collection::vec(member(), 1..6), traffic in traffic()) {
        check(Side::Server, &members, traffic)?;
    }
}

#[test]
fn decisions_are_taken_out() {
    assert_eq!(
        without_decisions(r#"a-b (decision 0123456789abcdef-12) x-"#),
        "a-b (decision <decision>) x-"
    );
}
