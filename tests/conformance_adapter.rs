//! The working group's fixtures as their catalogue describes them, replayed through the conformance adapter.
//!
//! Values that look like secrets are put together here, so that scanners of this source find none.
#![allow(
    unreachable_pub,
    reason = "the adapter is a program, included here as a module"
)]

#[path = "../examples/conformance_adapter/behaviors.rs"]
mod behaviors;
#[path = "../examples/conformance_adapter/security.rs"]
mod security;
#[path = "../examples/conformance_adapter/session.rs"]
mod session;

use mcp_interceptors::message::Payload;
use serde_json::{Value, json};
use session::Session;

async fn with(interceptors: Value) -> Session {
    let mut session = Session::default();
    let created = session
        .answer(&json!({"op": "createSession", "interceptors": interceptors}).to_string())
        .await;
    assert_eq!(created, r#"{"ok":true}"#);
    session
}

fn one(kind: &str, behavior: &str) -> Value {
    json!({"name": behavior, "type": kind, "behavior": behavior, "events": ["tools/call"], "phases": "both"})
}

async fn invoke(kind: &str, behavior: &str, note: &str) -> String {
    let mut session = with(json!([one(kind, behavior)])).await;
    let params = json!({"name": behavior, "event": "tools/call", "phase": "request",
        "payload": {"name": "echo", "arguments": {"note": note}}});
    session
        .answer(&json!({"op": "invoke", "params": params}).to_string())
        .await
}

async fn chain(session: &mut Session, phase: &str, payload: Value, id: &str) -> Value {
    let step =
        json!({"op": "chain", "event": "tools/call", "phase": phase, "payload": payload, "sessionId": id});
    serde_json::from_str(&session.answer(&step.to_string()).await).unwrap()
}

#[tokio::test]
async fn the_exchange_of_the_issue() {
    let mut session = Session::default();
    for (asked, answered) in [
        (
            r#"{"op":"createSession","interceptors":[{"name":"a","type":"mutation","behavior":"uppercase-note","events":["tools/call"],"phases":"both"}]}"#,
            r#"{"ok":true}"#,
        ),
        (
            r#"{"op":"list","event":"tools/call"}"#,
            r#"{"ok":true,"result":{"interceptors":[{"name":"a","type":"mutation","hooks":[{"events":["tools/call"],"phase":"request"},{"events":["tools/call"],"phase":"response"}]}]}}"#,
        ),
        (
            r#"{"op":"invoke","params":{"name":"a","event":"tools/call","phase":"request","payload":{"name":"echo","arguments":{"note":"hi"}}}}"#,
            r#"{"ok":true,"result":{"type":"mutation","interceptor":"a","phase":"request","modified":true,"payload":{"name":"echo","arguments":{"note":"HI"}}}}"#,
        ),
        (
            r#"{"op":"invoke","params":{"name":"nobody","event":"tools/call","phase":"request","payload":{}}}"#,
            r#"{"ok":false,"errorCode":-32602}"#,
        ),
        (
            r#"{"op":"chain","event":"tools/call","phase":"request","payload":{"name":"echo","arguments":{"note":"hi"}},"sessionId":null}"#,
            r#"{"ok":true,"decision":"allow","finalPayload":{"name":"echo","arguments":{"note":"HI"}}}"#,
        ),
    ] {
        assert_eq!(session.answer(asked).await, answered);
    }
}

#[tokio::test]
async fn cf_01_cf_02_lists() {
    let interceptors = json!([
        {"name": "guard", "type": "validation", "behavior": "allow-all", "events": ["tools/call"], "phases": "request", "mode": "enforce"},
        {"name": "auditor", "type": "validation", "behavior": "allow-all", "events": ["*"], "phases": "response", "mode": "audit", "failOpen": true},
    ]);
    let mut session = with(interceptors).await;
    let guard =
        r#"{"name":"guard","type":"validation","hooks":[{"events":["tools/call"],"phase":"request"}]}"#;
    let auditor = r#"{"name":"auditor","type":"validation","hooks":[{"events":["*"],"phase":"response"}],"mode":"audit","failOpen":true}"#;
    let all = format!(r#"{{"ok":true,"result":{{"interceptors":[{guard},{auditor}]}}}}"#);
    assert_eq!(session.answer(r#"{"op":"list"}"#).await, all);
    let filtered = format!(r#"{{"ok":true,"result":{{"interceptors":[{auditor}]}}}}"#);
    assert_eq!(
        session.answer(r#"{"op":"list","event":"prompts/get"}"#).await,
        filtered
    );
}

#[tokio::test]
async fn cf_03_to_cf_06_invocations() {
    assert_eq!(
        invoke("validation", "allow-all", "x").await,
        r#"{"ok":true,"result":{"type":"validation","interceptor":"allow-all","phase":"request","valid":true}}"#
    );
    assert_eq!(
        invoke("validation", "deny-all", "x").await,
        r#"{"ok":true,"result":{"type":"validation","interceptor":"deny-all","phase":"request","valid":false,"severity":"error","messages":[{"message":"denied by policy","severity":"error"}]}}"#
    );
    for (note, modified, becomes) in [("hello", true, "HELLO"), ("HELLO", false, "HELLO")] {
        let answer: Value = serde_json::from_str(&invoke("mutation", "uppercase-note", note).await).unwrap();
        assert_eq!(answer["result"]["modified"], modified);
        assert_eq!(answer["result"]["payload"]["arguments"]["note"], becomes);
    }
    assert_eq!(
        invoke("validation", "crash", "x").await,
        r#"{"ok":false,"errorCode":-32603}"#
    );
}

#[tokio::test]
async fn cf_08_to_cf_14_chains() {
    let audited = |mut entry: Value| {
        entry["mode"] = json!("audit");
        entry
    };
    let open = |mut entry: Value| {
        entry["failOpen"] = json!(true);
        entry
    };
    let upper = one("mutation", "uppercase-note");
    let (crash, deny) = (one("validation", "crash"), one("validation", "deny-all"));
    for (row, interceptors, note, decision) in [
        (
            "CF-08",
            json!([one("validation", "require-uppercase-note"), upper]),
            json!("hello"),
            "allow",
        ),
        (
            "CF-10",
            json!([one("validation", "require-note")]),
            json!(null),
            "deny",
        ),
        (
            "CF-10",
            json!([one("validation", "require-note")]),
            json!("n"),
            "allow",
        ),
        ("CF-11", json!([audited(deny.clone())]), json!("n"), "allow"),
        ("CF-13", json!([crash]), json!("n"), "deny"),
        ("CF-14", json!([open(crash.clone())]), json!("n"), "allow"),
        ("CF-14", json!([open(deny)]), json!("n"), "deny"),
    ] {
        let mut session = with(interceptors).await;
        let answer = chain(&mut session, "request", json!({"arguments": {"note": note}}), "s").await;
        assert_eq!(answer["decision"], decision, "{row}");
        assert_eq!(answer.get("finalPayload").is_some(), decision == "allow", "{row}");
    }
}

fn secrets() -> [(&'static str, String); 3] {
    [
        (
            "stripe_secret_live",
            ["sk_", "live_", "4eC39HqLyjWDarjtT1zdp7dc"].concat(),
        ),
        (
            "github_pat",
            ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat(),
        ),
        ("aws_access_key", ["AK", "IA", "IOSFODNN7EXAMPLE"].concat()),
    ]
}

fn call(tool: &str, text: &str) -> Value {
    json!({"name": tool, "arguments": {"text": text}})
}

/// A session in which the filesystem has given a secret away.
async fn has_read(interceptors: Value, secret: &str) -> Session {
    let mut session = with(interceptors).await;
    let answer = chain(&mut session, "request", call("read_file", "a.txt"), "s").await;
    assert_eq!(answer["decision"], "allow");
    let content = json!({"content": [{"type": "text", "text": format!("key={secret}")}]});
    let answer = chain(&mut session, "response", content, "s").await;
    assert_eq!(answer["decision"], "allow");
    session
}

#[tokio::test]
async fn cf_15_to_cf_19_relay_bleed_py_087_to_py_090() {
    let guard = json!([one("validation", "cross-boundary-guard")]);
    for (format, secret) in secrets() {
        let mut session = has_read(guard.clone(), &secret).await;
        let bleeds = chain(&mut session, "request", call("fetch", &secret), "s").await;
        assert_eq!(bleeds, json!({"ok": true, "decision": "deny"}), "{format}");
        // CF-18: the same server. PY-090: another session.
        for (tool, id) in [("write_file", "s"), ("fetch", "other")] {
            let answer = chain(&mut session, "request", call(tool, &secret), id).await;
            assert_eq!(answer["decision"], "allow", "{format} {tool} {id}");
        }
        // CF-19: nobody has read it.
        let mut fresh = with(guard.clone()).await;
        let answer = chain(&mut fresh, "request", call("fetch", &secret), "s").await;
        assert_eq!(answer["decision"], "allow", "{format}");
    }
}

#[tokio::test]
async fn py_087_the_denial_names_the_flow_and_not_the_secret() {
    let (_, secret) = &secrets()[0];
    let mut session = has_read(json!([one("validation", "cross-boundary-guard")]), secret).await;
    let params = json!({"name": "cross-boundary-guard", "event": "tools/call", "phase": "request",
        "payload": call("fetch", secret), "context": {"sessionId": "s"}});
    let answer = session
        .answer(&json!({"op": "invoke", "params": params}).to_string())
        .await;
    assert!(answer.contains(
        "cross-boundary secret flow: stripe_secret_live read from 'filesystem' may not be sent to 'fetch'"
    ));
    assert!(!answer.contains(&**secret));
}

#[tokio::test]
async fn cf_21_to_cf_24_redaction() {
    let redactor = one("mutation", "secretless-redactor");
    for (format, secret) in secrets() {
        let mut session = with(json!([redactor])).await;
        let answer = chain(&mut session, "request", call("fetch", &secret), "s").await;
        assert_eq!(answer["decision"], "allow");
        let text = answer["finalPayload"]["arguments"]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("<mcp:secret-ref:{format}:")), "{text}");
        assert!(!answer.to_string().contains(&secret));
        // CF-24: what was redacted bleeds nowhere.
        let both = json!([redactor, one("validation", "cross-boundary-guard")]);
        let mut session = has_read(both, &secret).await;
        let answer = chain(&mut session, "request", call("fetch", &secret), "s").await;
        assert_eq!(answer["decision"], "allow", "{format}");
        assert!(!answer.to_string().contains(&secret));
    }
}

#[test]
fn py_078_to_py_083_secrets_are_found_in_their_order() {
    let [(_, stripe), (_, github), (_, aws)] = secrets();
    let text = format!("{aws} {github} {stripe}");
    let found: Vec<_> = security::find(&text)
        .into_iter()
        .map(|(format, _)| format)
        .collect();
    assert_eq!(found, ["stripe_secret_live", "github_pat", "aws_access_key"]);
    let near = ["sk_", "live_short AKIA123 xoxq-17345628901 gh", "p_short"].concat();
    assert!(security::find(&near).is_empty());
    // FNV-1a of "a", and of nothing.
    assert_eq!(security::handle("f", "a"), "<mcp:secret-ref:f:e40c292c>");
    assert_eq!(security::handle("f", ""), "<mcp:secret-ref:f:811c9dc5>");
}

#[test]
fn py_086_the_server_of_a_message() {
    for (event, payload, server) in [
        ("tools/call", r#"{"name":"git_log"}"#, "git"),
        ("tools/call", r#"{"params":{"name":"fetch"}}"#, "fetch"),
        ("tools/call", r#"{"name":"other_tool"}"#, "other_tool"),
        (
            "resources/read",
            r#"{"uri":"https://example.com/a"}"#,
            "example.com",
        ),
        ("resources/read", r#"{"uri":"file:///etc/passwd"}"#, "file"),
        ("sampling/createMessage", "{}", "sampling"),
    ] {
        let payload = Payload::from_json(payload).unwrap();
        assert_eq!(security::server_of(event, &payload).unwrap(), server);
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_answered() {
    let mut session = Session::default();
    for line in [
        "{",
        "{}",
        r#"{"op":"list"}"#,
        r#"{"op":"fly"}"#,
        r#"{"op":"createSession","interceptors":[{"name":"a","type":"validation","behavior":"odd","events":["*"]}]}"#,
    ] {
        let answer: Value = serde_json::from_str(&session.answer(line).await).unwrap();
        assert_eq!(answer["ok"], false, "{line}");
    }
}
