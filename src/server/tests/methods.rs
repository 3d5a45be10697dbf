//! What is listed, and what an invocation answers.

use super::*;

#[tokio::test]
async fn py_021_go_003_ts_056_all_are_listed_in_their_order() {
    let all = ["redactor", "judge", "audit-log", "crash", "slow", "confused"];
    assert_eq!(names(&six(), json!({})).await, all);
    assert_eq!(names(&six(), json!({"event": "*"})).await, all);
}

#[tokio::test]
async fn py_022_py_062_go_004_ts_142_the_list_is_filtered_by_event() {
    let server = six();
    for (event, expected) in [
        ("llm/completion", &["redactor", "audit-log"][..]),
        ("prompts/get", &["audit-log", "confused"]),
        ("prompts/*", &["audit-log", "confused"]),
        ("tools/*", &["redactor", "judge", "audit-log", "crash", "slow"]),
        ("nonexistent", &["audit-log"]),
    ] {
        assert_eq!(names(&server, json!({"event": event})).await, expected, "{event}");
    }
    let narrow = builder()
        .interceptor(
            Interceptor::validator("a")
                .on("tools/call")
                .request()
                .handler(|| async { true }),
        )
        .build()
        .unwrap();
    assert!(names(&narrow, json!({"event": "nonexistent"})).await.is_empty());
}

#[tokio::test]
async fn a_list_needs_no_params_and_refuses_odd_ones() {
    let server = six();
    let bare = Message::bare_request(&Id::from("a"), "interceptors/list");
    let reply = server.clone().oneshot(bare).await.unwrap();
    let answer = reply.into_one(drop).await.unwrap().unwrap();
    assert!(
        answer
            .as_json()
            .contains(r#""id":"a","result":{"interceptors":[{"name":"redactor""#)
    );
    for params in [
        json!({"event": 7}),
        json!({"event": "a*b"}),
        json!({"event": ""}),
        json!({"cursor": "page-2"}),
    ] {
        let answer = ask(&server, "interceptors/list", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        assert_eq!(answer["error"]["data"]["kind"], "invalid_params", "{params}");
    }
}

#[tokio::test]
async fn py_024_py_027_go_005_ts_057_cs_104_a_verdict_is_flat_and_stamped() {
    let answer = invoke(&six(), call("judge", json!({"name": "echo"}))).await;
    let mut result = answer["result"].clone();
    assert!(result["durationMs"].is_u64(), "{result}");
    result.as_object_mut().unwrap().remove("durationMs");
    assert_eq!(
        result,
        json!({"type": "validation", "interceptor": "judge", "phase": "request", "valid": true})
    );
}

#[tokio::test]
async fn py_025_go_006_ts_138_a_refusal_has_its_severity_and_path() {
    let answer = invoke(&six(), call("judge", json!({"bad": 1}))).await;
    let result = &answer["result"];
    assert_eq!(result["valid"], false);
    assert_eq!(result["severity"], "error");
    assert_eq!(
        result["messages"],
        json!([{"path": "bad", "message": "bad", "severity": "error"}])
    );
}

#[tokio::test]
async fn ts_139_cs_105_a_refusal_without_a_severity_gets_one() {
    let server = builder()
        .interceptor(
            Interceptor::validator("no")
                .on("tools/call")
                .request()
                .handler(|| async { false }),
        )
        .build()
        .unwrap();
    let answer = invoke(&server, call("no", json!({}))).await;
    assert_eq!(answer["result"]["severity"], "error");
}

#[tokio::test]
async fn py_026_go_007_cs_107_a_mutator_gets_its_config() {
    let mut params = call("redactor", json!({"a": 1}));
    params["config"] = json!({"strict": true});
    let result = invoke(&six(), params).await["result"].clone();
    assert_eq!(result["modified"], true);
    assert_eq!(result["payload"], json!({"a": 1, "redacted": true}));
    assert_eq!(result["info"], json!({"config": {"strict": true}}));
}

#[tokio::test]
async fn ts_140_what_stays_is_echoed_byte_for_byte() {
    let server = builder()
        .interceptor(
            Interceptor::mutator("keep")
                .on("tools/call")
                .both()
                .handler(|| async { None::<Payload> }),
        )
        .build()
        .unwrap();
    let json = r#"{"jsonrpc":"2.0","id":1,"method":"interceptor/invoke","params":{"name":"keep","event":"tools/call","phase":"response","payload":{"n":1.50, "big":12345678901234567890123}}}"#;
    let reply = server.oneshot(Message::parse(json).unwrap()).await.unwrap();
    let answer = reply.into_one(drop).await.unwrap().unwrap();
    assert!(
        answer
            .as_json()
            .contains(r#""modified":false,"payload":{"n":1.50, "big":12345678901234567890123}}"#),
        "{}",
        answer.as_json()
    );
}

#[tokio::test]
async fn cs_108_a_sink_says_that_it_has_taken_note() {
    let result = invoke(&six(), call("audit-log", json!({}))).await["result"].clone();
    assert_eq!(result["type"], "sink");
    assert_eq!(result["recorded"], true);
}

#[tokio::test]
async fn cs_106_event_and_phase_are_arguments() {
    use crate::interceptor::{Context, Event};
    let server = builder()
        .interceptor(Interceptor::validator("echo").on("a/b").response().handler(
            |event: Event, phase: Phase, context: Context| async move {
                ValidationResult::pass().with_info(json!([&*event, phase, context.trace_id]))
            },
        ))
        .build()
        .unwrap();
    let params = json!({"name": "echo", "event": "a/b", "phase": "response", "payload": [],
        "context": {"traceId": "t"}});
    let result = invoke(&server, params).await["result"].clone();
    assert_eq!(result["info"], json!(["a/b", "response", "t"]));
}

#[test]
fn py_037_ts_058_ts_141_a_name_twice_is_refused_at_build() {
    let one = || {
        Interceptor::validator("twin")
            .on("*")
            .both()
            .handler(|| async { true })
    };
    let error = builder().interceptors([one(), one()]).build().unwrap_err();
    assert!(error.to_string().contains("\"twin\""), "{error}");
    let nameless = Interceptor::validator("")
        .on("*")
        .both()
        .handler(|| async { true });
    assert!(builder().interceptor(nameless).build().is_err());
}

#[tokio::test]
async fn py_034_py_038_ts_055_ts_143_the_capability_is_the_sorted_union() {
    let server = six();
    let events = ["*", "llm/completion", "prompts/*", "tools/call"];
    assert_eq!(server.capability().supported_events, events);
    assert_eq!(server.descriptors().count(), 6);
}
