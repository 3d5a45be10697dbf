//! The server, asked in memory, over pipes and over HTTP. Rows of the catalogue stand in the names.

mod eras;
mod failures;
mod methods;
mod old;
#[cfg(feature = "schema")]
mod schema;
mod time;
#[cfg(any(feature = "http", feature = "stdio"))]
mod wire;

use serde_json::{Value, json};
use tower::ServiceExt;

use super::{InterceptorServer, InterceptorServerBuilder};
use crate::{
    BoxError,
    interceptor::{Config, Interceptor, Mode, MutationResult, Phase, PriorityHint, ValidationResult},
    message::{Id, Message, Payload},
    reply::Reply,
};

fn builder() -> InterceptorServerBuilder {
    InterceptorServer::builder("test-server", "1.2.3")
}

/// Six of all kinds, as the Python peer's tests have them.
fn six() -> InterceptorServer {
    builder()
        .interceptor(
            Interceptor::mutator("redactor")
                .priority(PriorityHint::number(-1_000))
                .on("tools/call")
                .and("llm/completion")
                .both()
                .handler(|mut payload: Payload, config: Option<Config<Value>>| async move {
                    payload.set("/redacted", &true)?;
                    let config = config.map_or(Value::Null, |config| config.0);
                    Ok::<_, BoxError>(MutationResult::edited(payload).with_info(json!({"config": config})))
                }),
        )
        .interceptor(
            Interceptor::validator("judge")
                .on("tools/call")
                .request()
                .handler(|payload: Payload| async move {
                    Ok::<_, BoxError>(match payload.get("/bad")? {
                        Some(_) => ValidationResult::fail("bad").with_path("bad"),
                        None => ValidationResult::pass(),
                    })
                }),
        )
        .interceptor(
            Interceptor::sink("audit-log")
                .mode(Mode::Audit)
                .on("*")
                .both()
                .handler(|| async {}),
        )
        .interceptor(
            Interceptor::validator("crash")
                .on("tools/call")
                .request()
                .handler(|| async { Err::<bool, _>(BoxError::from("inner text")) }),
        )
        .interceptor(
            Interceptor::validator("slow")
                .on("tools/call")
                .request()
                .handler(std::future::pending::<bool>),
        )
        .interceptor(
            Interceptor::validator("confused")
                .on("prompts/*")
                .request()
                .service(tower::service_fn(|_| async {
                    Ok::<_, BoxError>(MutationResult::unmodified().into())
                })),
        )
        .build()
        .unwrap()
}

async fn reply(server: &InterceptorServer, method: &str, params: Value) -> Reply {
    let message = Message::request(&Id::from(1), method, &params).unwrap();
    server.clone().oneshot(message).await.unwrap()
}

/// The answer without what surrounds it.
async fn ask(server: &InterceptorServer, method: &str, params: Value) -> Value {
    let reply = reply(server, method, params).await;
    let message = reply.into_one(drop).await.unwrap().unwrap();
    serde_json::from_str(message.as_json()).unwrap()
}

async fn invoke(server: &InterceptorServer, params: Value) -> Value {
    ask(server, "interceptor/invoke", params).await
}

#[allow(clippy::needless_pass_by_value, reason = "it reads better where it is called")]
fn call(name: &str, payload: Value) -> Value {
    json!({"name": name, "event": "tools/call", "phase": Phase::Request, "payload": payload})
}

async fn names(server: &InterceptorServer, params: Value) -> Vec<String> {
    let listed = ask(server, "interceptors/list", params).await;
    let listed = listed["result"]["interceptors"].as_array().unwrap().clone();
    let name = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
    listed.iter().map(name).collect()
}
