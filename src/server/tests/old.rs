//! The dialect of 2025.

use super::*;

fn old() -> InterceptorServer {
    builder()
        .old_dialect()
        .interceptor(Interceptor::mutator("upper").on("tools/call").both().handler(
            |mut payload: Payload| async move {
                let changed = payload.edit_strings(|text| Some(text.to_uppercase()))?;
                Ok::<_, BoxError>(changed.then_some(payload))
            },
        ))
        .interceptor(Interceptor::sink("log").on("*").request().handler(|| async {}))
        .interceptor(
            Interceptor::validator("crash")
                .on("prompts/get")
                .request()
                .handler(|| async { Err::<bool, _>(BoxError::from("inner text")) }),
        )
        .build()
        .unwrap()
}

#[tokio::test]
async fn the_old_form_stands_beside_the_new_one() {
    let listed = ask(&old(), "interceptors/list", json!({})).await;
    assert_eq!(
        listed["result"]["interceptors"][0],
        json!({"name": "upper", "type": "mutation",
            "hooks": [{"events": ["tools/call"], "phase": "request"}, {"events": ["tools/call"], "phase": "response"}],
            "events": ["tools/call"], "phase": "both"})
    );
    assert_eq!(listed["result"]["interceptors"][1]["type"], "observability");
    assert_eq!(listed["result"]["interceptors"][1]["phase"], "request");
    let result = invoke(&old(), call("log", json!({}))).await["result"].clone();
    assert_eq!(result["type"], "observability");
    assert_eq!(result["observed"], true);
}

#[tokio::test]
async fn the_capability_is_experimental_too() {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let answer = ask(&old(), "initialize", params).await;
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(
        capabilities["experimental"]["interceptors"],
        capabilities["extensions"]["io.modelcontextprotocol/interceptors"]
    );
}

#[tokio::test]
async fn a_chain_runs_here() {
    let params = json!({"event": "tools/call", "phase": "request", "payload": {"a": "b"}});
    let result = ask(&old(), "interceptor/executeChain", params.clone()).await["result"].clone();
    assert_eq!(result["status"], "success");
    assert_eq!(result["finalPayload"], json!({"a": "B"}));
    assert_eq!(result["results"][1]["type"], "observability");
    assert_eq!(result["results"][1]["observed"], true);

    let params = json!({"event": "prompts/get", "phase": "request", "payload": {}});
    let result = ask(&old(), "interceptor/executeChain", params.clone()).await["result"].clone();
    assert_eq!(result["status"], "validation_failed");
    assert_eq!(result["abortedAt"]["interceptor"], "crash");
    assert!(!result.to_string().contains("inner text"), "{result}");

    let refused = ask(&old(), "interceptor/executeChain", json!({})).await;
    assert_eq!(refused["error"]["code"], -32602);
    let unknown = ask(&six(), "interceptor/executeChain", params).await;
    assert_eq!(unknown["error"]["code"], -32601);
}
