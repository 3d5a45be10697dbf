use proptest::prelude::*;
use serde_json::{Value, json};

use super::{SecretPatterns, SecretRedactor, formats::FORMATS, samples::samples};
use crate::{
    chain::Chain,
    intercept::InterceptorLayer,
    interceptor::{ChainParams, ChainResult, Phase},
    message::{ErrorObject, Id, Message, Payload},
    reply::{Event, Events, Reply},
};

const SUITE: [&str; 7] = [
    "stripe_secret_live",
    "stripe_pub_live",
    "github_pat",
    "github_oauth",
    "aws_access_key",
    "slack_bot",
    "slack_refresh",
];

fn sample(format: &str) -> String {
    let found = samples().into_iter().find(|(name, ..)| *name == format);
    found.unwrap_or_else(|| panic!("no sample of {format}")).1
}

fn formats(text: &str) -> Vec<String> {
    let patterns = SecretPatterns::new();
    patterns
        .find(text)
        .into_iter()
        .map(|found| found.format.to_owned())
        .collect()
}

#[test]
fn py_078_the_suites_seven_formats_come_first_in_their_order() {
    let known: Vec<_> = FORMATS.iter().map(|(name, ..)| *name).take(7).collect();
    assert_eq!(known, SUITE);
}

#[test]
fn py_079_each_example_is_found_and_replaced_whole() {
    let redactor = SecretRedactor::new();
    for (format, text, secret) in samples() {
        let found = formats(&text);
        assert!(
            found.iter().any(|name| name == format),
            "{format}: {text} has {found:?}"
        );
        let redacted = redactor.redact_text(&text).unwrap();
        assert!(!redacted.contains(&secret), "{format}: {redacted}");
        assert_eq!(redacted, text.replace(&secret, &format!("<redacted:{format}>")));
    }
}

#[test]
fn every_format_has_an_example() {
    let have: Vec<_> = samples().into_iter().map(|(format, ..)| format).collect();
    let without: Vec<_> = FORMATS.iter().filter(|(name, ..)| !have.contains(name)).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn py_080_findings_are_in_the_catalogues_order_then_by_position() {
    let text = [
        sample("slack_bot"),
        sample("github_pat"),
        sample("stripe_secret_live"),
        sample("github_pat"),
    ]
    .join(" ");
    assert_eq!(
        formats(&text),
        ["stripe_secret_live", "github_pat", "github_pat", "slack_bot"]
    );
}

#[test]
fn py_081_near_misses_are_not_found() {
    let near = ["sk_", "live_short"].concat();
    for text in [
        near.as_str(),
        "AKIA123 xoxq-17345628901 ghp_short",
        "a task-management-system-for-the-whole-team-1234567890",
        "Bearer authentication-is-required here",
        "the bearer of this letter",
        "https://example.com/a:b@c and mailto:me@example.com",
        "http://localhost:8080/@scope/package",
        "-----BEGIN PUBLIC KEY----- MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE -----END PUBLIC KEY-----",
        "commit 0a1b2c3d4e5f67890a1b2c3d4e5f67890a1b2c3d",
        "123e4567-e89b-12d3-a456-426614174000",
        "eyJhbGciOiJIUzI1NiJ9 is only a header",
        "desk-0123456789abcdefghijklmnopqrstuvwxyz",
    ] {
        assert_eq!(formats(text), [""; 0], "{text}");
    }
}

#[test]
fn a_secret_in_the_middle_of_a_word_is_found_too() {
    for format in SUITE {
        assert!(
            formats(&format!("x{}", sample(format))).contains(&format.to_owned()),
            "{format}"
        );
    }
}

#[test]
fn what_overlaps_is_replaced_as_one() {
    let token = sample("github_pat");
    let text = format!("Authorization: Bearer {token} {}", sample("aws_access_key"));
    assert_eq!(
        SecretRedactor::new().redact_text(&text).unwrap(),
        "Authorization: Bearer <redacted:github_pat> <redacted:aws_access_key>"
    );
    assert_eq!(
        SecretRedactor::new()
            .redact_text(&format!("{token}/{token}"))
            .unwrap(),
        "<redacted:github_pat>/<redacted:github_pat>"
    );
}

#[test]
fn a_word_that_begins_where_a_secret_ended_is_searched_too() {
    // Behind `=`-less base64 no word begins; behind the replacement one does.
    let text = format!("{}-{}", sample("github_pat"), sample("openai_legacy"));
    let redacted = SecretRedactor::new().redact_text(&text).unwrap();
    assert_eq!(redacted, "<redacted:github_pat>-<redacted:openai_legacy>");
    let text = format!("{}{}", ["xo", "xb-", "0123456789"].concat(), ".").repeat(3) + &sample("mailgun");
    let redacted = SecretRedactor::new().redact_text(&text).unwrap();
    assert!(redacted.ends_with("<redacted:mailgun>"), "{redacted}");
}

#[test]
fn own_patterns_and_their_limits() {
    let redactor = SecretRedactor::with_patterns(SecretPatterns::none())
        .pattern("badge", "badge (?P<secret>[0-9]+)")
        .unwrap()
        .replace_with(|format, secret| format!("[{format}:{}]", secret.len()));
    assert_eq!(
        redactor.redact_text("badge 1234, 5678").unwrap(),
        "badge [badge:4], 5678"
    );
    assert_eq!(redactor.redact_text(&sample("github_pat")), None);
    let none = SecretPatterns::new;
    for (format, pattern) in [
        ("x", "("),
        ("x", r"\w{1000}{1000}"),
        ("github_pat", "x"),
        ("a b", "x"),
        ("", "x"),
        ("<x>", "x"),
    ] {
        assert!(none().pattern(format, pattern).is_err(), "{format} {pattern}");
    }
    let error = none().pattern("mine", "(").unwrap_err().to_string();
    assert!(error.contains("\"mine\""), "{error}");
}

#[test]
fn a_pattern_that_matches_its_own_replacement_ends() {
    let redactor = SecretRedactor::with_patterns(SecretPatterns::none())
        .pattern("all", ".+")
        .unwrap();
    assert_eq!(redactor.redact_text("x").unwrap(), "<redacted:all>");
    let empty = SecretRedactor::with_patterns(SecretPatterns::none())
        .pattern("empty", "x*")
        .unwrap();
    assert_eq!(empty.redact_text("abc"), None);
}

async fn run(phase: Phase, payload: &str) -> ChainResult {
    let chain = Chain::builder()
        .interceptor(SecretRedactor::new())
        .build()
        .unwrap();
    let payload: Value = serde_json::from_str(payload).unwrap();
    chain
        .execute(ChainParams::new("tools/call", phase, payload))
        .await
}

#[tokio::test]
async fn py_084_py_091_structure_stays_and_info_counts() {
    let (pat, key) = (sample("github_pat"), sample("aws_access_key"));
    let payload = json!({"name": "echo", "arguments": {"a": [format!("x {key} y"), 1.5, null], "b": {"c": pat, "d": pat}}});
    let result = run(Phase::Request, &payload.to_string()).await;
    let after: Value = serde_json::from_str(result.final_payload.unwrap().get()).unwrap();
    assert_eq!(
        after,
        json!({"name": "echo", "arguments": {
            "a": ["x <redacted:aws_access_key> y", 1.5, null],
            "b": {"c": "<redacted:github_pat>", "d": "<redacted:github_pat>"},
        }})
    );
    let info = json!({"redacted": 3, "formats": ["github_pat", "aws_access_key"]}).to_string();
    let result = serde_json::to_value(&result.results[0]).unwrap();
    assert_eq!(
        result["info"].to_string(),
        info.parse::<Value>().unwrap().to_string()
    );
}

#[tokio::test]
async fn py_092_a_clean_payload_is_not_modified() {
    let result = run(Phase::Response, r#"{"content":[{"type":"text","text":"hello"}]}"#).await;
    assert_eq!(
        serde_json::to_value(&result.results[0]).unwrap()["modified"],
        false
    );
}

#[test]
fn all_other_bytes_of_a_message_stay() {
    let secret = sample("github_pat");
    let before = format!(
        r#"{{ "jsonrpc":"2.0", "id":1.0,"method":"tools\/call","params":{{"arguments":{{"n":1.10, "e":"\u00e9","{secret}":1,"t":"a\n{secret}\/b"}},"name":"x" }} }}"#
    );
    let message = Message::parse(before.clone()).unwrap();
    let redactor = SecretRedactor::new();
    let result = redactor.redact(message.payload().clone()).unwrap();
    let after = message.with_payload(&result.payload.unwrap()).unwrap();
    let expected = before.replace(
        &format!(r#""t":"a\n{secret}\/b""#),
        r#""t":"a\n<redacted:github_pat>/b""#,
    );
    // The string that was edited is written anew; the key keeps the secret, as documented.
    assert_eq!(after.as_json(), expected);
}

#[test]
fn a_lone_surrogate_and_a_key_twice_are_failures() {
    for payload in [r#"{"a":"\ud800"}"#, r#"{"a":1,"a":2}"#] {
        let payload = Payload::from_json(payload).unwrap();
        assert!(SecretRedactor::new().redact(payload).is_err());
    }
}

#[test]
fn errors_and_the_content_of_a_running_call_are_hooked() {
    let interceptor = crate::interceptor::Interceptor::from(SecretRedactor::new());
    let descriptor = interceptor.descriptor();
    for (event, phase, hooked) in [
        ("tools/call", Phase::Request, true),
        ("sampling/createMessage", Phase::Response, true),
        ("notifications/progress", Phase::Request, true),
        ("notifications/message", Phase::Request, true),
        ("notifications/tasks", Phase::Request, true),
        ("notifications/tasks/status", Phase::Request, true),
        ("notifications/initialized", Phase::Request, false),
        ("initialize", Phase::Request, false),
    ] {
        assert_eq!(descriptor.is_hooked(event, phase), hooked, "{event}");
    }
    assert!(interceptor.settings().errors);
}

fn pieces() -> impl Strategy<Value = String> {
    let secrets: Vec<String> = samples().into_iter().map(|(_, text, _)| text).collect();
    let noise = "[ -~\\n]{0,12}|é|[A-Za-z0-9_.-]{0,8}";
    let piece = prop_oneof![
        proptest::sample::select(secrets),
        noise.prop_map(String::from),
        Just("Bearer ".to_owned()),
        Just("://a:".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let redactor = SecretRedactor::new();
        let once = redactor.redact_text(&text);
        prop_assert_eq!(&once, &redactor.redact_text(&text));
        if let Some(once) = once {
            prop_assert_eq!(redactor.redact_text(&once), None, "{}", once);
        }
    }

    #[test]
    fn what_is_no_secret_stays(text in pieces()) {
        let redactor = SecretRedactor::new().replace_with(|_, _| "\u{0}".into());
        if let Some(redacted) = redactor.redact_text(&text) {
            let mut rest = text.as_str();
            for kept in redacted.split('\u{0}') {
                let at = rest.find(kept);
                prop_assert!(at.is_some(), "{kept:?}");
                rest = &rest[at.unwrap() + kept.len()..];
            }
        }
    }
}

/// Progress of a running call and its error answer, in one stream.
#[tokio::test]
async fn in_a_stack_progress_and_errors_are_redacted_too() {
    let secret = sample("github_pat");
    let backend = tower::service_fn({
        let secret = secret.clone();
        move |request: Message| {
            let progress = Message::notification(
                "notifications/progress",
                &json!({"progressToken": 1, "progress": 1, "message": format!("using {secret}")}),
            );
            let error = ErrorObject::new(-32000, format!("bad credentials: {secret}"));
            let answer = request.answer::<Value>(Err(&error));
            let events =
                [progress, answer].map(|message| Ok::<_, crate::BoxError>(Event::from(message.unwrap())));
            async move {
                let events = Events::new(futures::stream::iter(events));
                Ok::<_, std::convert::Infallible>(Reply::many(events))
            }
        }
    });
    let chain = Chain::builder()
        .interceptor(SecretRedactor::new())
        .build()
        .unwrap();
    let stack = tower::ServiceBuilder::new()
        .layer(InterceptorLayer::client_side(&chain))
        .service(backend);
    let call = Message::request(&Id::from(1), "tools/call", &json!({"name": "push"})).unwrap();
    let mut seen = Vec::new();
    let answer = tower::ServiceExt::oneshot(stack, call)
        .await
        .unwrap()
        .into_one(|event| seen.extend(event.into_message()))
        .await
        .unwrap()
        .unwrap();
    assert!(
        seen[0].as_json().contains("using <redacted:github_pat>"),
        "{seen:?}"
    );
    assert!(
        answer
            .as_json()
            .contains("bad credentials: <redacted:github_pat>"),
        "{}",
        answer.as_json()
    );
}
