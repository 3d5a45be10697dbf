//! Configurations and their schemas.

use super::*;

fn strict(schema: Value) -> Interceptor {
    Interceptor::validator("strict")
        .on("tools/call")
        .request()
        .config_schema(schema)
        .handler(|| async { true })
}

#[tokio::test]
async fn a_config_that_does_not_fit_is_refused() {
    let schema =
        json!({"type": "object", "required": ["level"], "properties": {"level": {"type": "integer"}}});
    let server = builder().interceptor(strict(schema)).build().unwrap();
    for (config, fits) in [
        (None, false),
        (Some(json!({})), false),
        (Some(json!({"level": "hush"})), false),
        (Some(json!({"level": 3})), true),
    ] {
        let mut params = call("strict", json!({}));
        if let Some(config) = &config {
            params["config"] = config.clone();
        }
        let answer = invoke(&server, params).await;
        assert_eq!(answer["result"]["valid"] == true, fits, "{config:?} {answer}");
        if !fits {
            assert_eq!(answer["error"]["code"], -32602);
            assert_eq!(answer["error"]["data"]["kind"], "invalid_params");
            assert!(!answer.to_string().contains("hush"), "{answer}");
        }
    }
}

#[test]
fn a_schema_that_is_none_is_refused_at_build() {
    for schema in [
        json!({"type": 7}),
        json!({"$ref": "https://example.com/schema.json"}),
    ] {
        let error = builder().interceptor(strict(schema)).build().unwrap_err();
        assert!(error.to_string().contains("\"strict\""), "{error}");
    }
}
