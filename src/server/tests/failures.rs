//! What goes wrong, and how it is said.

use super::*;

fn kind(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    (
        error["code"].as_i64().unwrap(),
        error["data"]["kind"].as_str().unwrap(),
    )
}

#[tokio::test]
async fn py_028_go_008_ts_060_ts_144_an_unknown_name() {
    let answer = invoke(&six(), call("nobody", json!({}))).await;
    assert_eq!(kind(&answer), (-32602, "unknown_interceptor"));
    assert!(answer["error"]["message"].as_str().unwrap().contains("nobody"));
}

#[tokio::test]
async fn py_029_py_030_what_is_not_hooked() {
    let server = six();
    let mut params = call("judge", json!({}));
    params["event"] = json!("prompts/get");
    assert_eq!(kind(&invoke(&server, params).await), (-32602, "hook_mismatch"));
    let mut params = call("judge", json!({}));
    params["phase"] = json!("response");
    assert_eq!(kind(&invoke(&server, params).await), (-32602, "hook_mismatch"));
}

#[tokio::test]
async fn ts_059_bad_params() {
    let server = six();
    for (key, value) in [
        ("name", Value::Null),
        ("name", json!("")),
        ("event", json!(1)),
        ("phase", json!("both")),
        ("timeoutMs", json!(-1)),
        ("timeoutMs", json!(0)),
        ("timeoutMs", json!("50")),
        ("config", json!([])),
        ("context", json!("me")),
    ] {
        let mut params = call("judge", json!({}));
        params[key] = value.clone();
        let answer = invoke(&server, params).await;
        assert_eq!(kind(&answer), (-32602, "invalid_params"), "{key} {value}");
    }
    let mut params = call("judge", json!({}));
    params.as_object_mut().unwrap().remove("payload");
    assert_eq!(kind(&invoke(&server, params).await), (-32602, "invalid_params"));
}

#[tokio::test]
async fn py_031_a_crash_never_shows_its_text() {
    let answer = invoke(&six(), call("crash", json!({}))).await;
    assert_eq!(kind(&answer), (-32603, "failed"));
    assert!(!answer.to_string().contains("inner text"), "{answer}");
}

#[tokio::test]
async fn a_panic_is_a_failure_and_the_server_goes_on() {
    let server = builder()
        .interceptor(Interceptor::mutator("bomb").on("tools/call").request().handler(
            |payload: Payload| async move {
                assert!(!payload.is_present(), "inner text");
                None::<Payload>
            },
        ))
        .build()
        .unwrap();
    for _ in 0..2 {
        let answer = invoke(&server, call("bomb", json!({}))).await;
        assert_eq!(kind(&answer), (-32603, "failed"));
        assert_eq!(answer["error"]["data"]["reason"], "panic");
        assert!(!answer.to_string().contains("inner text"));
    }
}

#[tokio::test]
async fn py_033_py_068_an_answer_of_another_type_is_a_failure() {
    let params = json!({"name": "confused", "event": "prompts/get", "phase": "request", "payload": {}});
    let answer = invoke(&six(), params).await;
    assert_eq!(kind(&answer), (-32603, "failed"));
    assert_eq!(answer["error"]["data"]["reason"], "malformed answer");
}

#[tokio::test]
async fn ts_013_a_mutator_may_refuse() {
    let server = builder()
        .interceptor(
            Interceptor::mutator("refuses")
                .on("tools/call")
                .request()
                .service(tower::service_fn(|_| async {
                    Ok::<_, BoxError>(ValidationResult::fail("no").into())
                })),
        )
        .build()
        .unwrap();
    let result = invoke(&server, call("refuses", json!({}))).await["result"].clone();
    assert_eq!(result["type"], "validation");
    assert_eq!(result["valid"], false);
}

#[tokio::test]
async fn a_payload_that_becomes_null_is_a_failure() {
    let server = builder()
        .interceptor(
            Interceptor::mutator("null")
                .on("tools/call")
                .request()
                .handler(|| async { MutationResult::modified(Value::Null) }),
        )
        .build()
        .unwrap();
    assert_eq!(
        kind(&invoke(&server, call("null", json!({}))).await),
        (-32603, "failed")
    );
}

#[tokio::test]
async fn a_key_twice_in_the_payload_is_never_a_pass() {
    let json = r#"{"jsonrpc":"2.0","id":1,"method":"interceptor/invoke","params":{"name":"judge","event":"tools/call","phase":"request","payload":{"bad":1,"bad":2}}}"#;
    let reply = six().oneshot(Message::parse(json).unwrap()).await.unwrap();
    let answer = reply.into_one(drop).await.unwrap().unwrap();
    let error: Value = serde_json::from_str(answer.as_json()).unwrap();
    assert!(error["error"].is_object(), "{error}");
}
