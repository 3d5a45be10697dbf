//! Guards an MCP server that is an axum router, in the same program: one call, and no network in between.
//!
//! `cargo run --example axum_mount`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use axum::{Json, Router, routing::post};
use mcp_interceptors::{
    BoxError,
    chain::Chain,
    duplex,
    http::{self, HttpBackend},
    intercept::InterceptorLayer,
    interceptor::Interceptor,
    message::{Id, Message, Payload},
};
use serde_json::{Value, json};

/// The server that is there already.
async fn mcp(Json(call): Json<Value>) -> Json<Value> {
    let text = format!("{} done", call["params"]["name"].as_str().unwrap_or_default());
    Json(json!({"jsonrpc": "2.0", "id": call["id"], "result": {"content": [{"type": "text", "text": text}]}}))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let server = Router::new().route("/mcp", post(mcp));

    let no_shell = Interceptor::validator("no-shell")
        .on("tools/call")
        .request()
        .handler(|call: Payload| async move {
            Ok::<_, BoxError>(
                call.get("/name")?
                    .and_then(|name| name.string())
                    .is_some_and(|name| name != "shell"),
            )
        });
    let chain = Chain::builder().interceptor(no_shell).build()?;
    let app = Router::new().route_service("/mcp", http::guard(server, InterceptorLayer::server_side(chain)));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(async { axum::serve(listener, app).await });

    // Somebody calls it.
    let mut client = duplex::connect(HttpBackend::new(url)?);
    for (id, tool) in [(1, "echo"), (2, "shell")] {
        let call = Message::request(&Id::from(id), "tools/call", &json!({"name": tool}))?;
        println!("{tool}: {}", client.call(call).await.payload().as_json());
    }
    Ok(())
}
