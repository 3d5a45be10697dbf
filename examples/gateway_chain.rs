//! Two gateways in a row: a security gateway in front of a logging gateway in front of a server. What the first one
//! blocks the second never sees.
//!
//! `cargo run --example gateway_chain`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::future::pending;

use mcp_interceptors::{
    BoxError, McpService, ServiceBuilderExt,
    chain::Chain,
    duplex,
    http::{HttpBackend, StreamableHttp, serve},
    interceptor::{Interceptor, Phase},
    message::{Id, Kind, Message, Payload},
    proxy::McpProxyService,
    reply::Reply,
};
use serde_json::json;
use tower::ServiceBuilder;

/// Serves a stack, and says where.
async fn listen(stack: impl McpService) -> Result<String, BoxError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(serve(listener, StreamableHttp::new(stack), pending()));
    Ok(url)
}

/// A gateway: a chain in front of the server at that URL.
async fn gateway(chain: Chain, url: String) -> Result<String, BoxError> {
    let backend = McpProxyService::new(HttpBackend::new(url)?);
    listen(
        ServiceBuilder::new()
            .rescue()
            .correlate()
            .intercept_client_side(&chain)
            .service(backend),
    )
    .await
}

fn tool(call: &Payload) -> Result<Option<String>, BoxError> {
    Ok(call
        .get("/name")?
        .and_then(|name| name.string())
        .map(|name| name.into_owned()))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let server = listen(tower::service_fn(|message: Message| async move {
        Ok::<_, BoxError>(match message.kind() {
            Kind::Request => Reply::one(message.answer(Ok(&json!({"content": []})))?),
            _ => Reply::accepted(),
        })
    }))
    .await?;

    let log = Interceptor::validator("log").on("tools/call").both().handler(
        |phase: Phase, payload: Payload| async move {
            println!("the logging gateway sees the {phase}: {}", payload.as_json());
            true
        },
    );
    let security = Interceptor::validator("security")
        .on("tools/call")
        .request()
        .handler(|call: Payload| async move {
            Ok::<_, BoxError>(tool(&call)?.is_some_and(|tool| tool != "shell"))
        });
    let logging = gateway(Chain::builder().interceptor(log).build()?, server).await?;
    let security = gateway(Chain::builder().interceptor(security).build()?, logging).await?;

    let mut client = duplex::connect(HttpBackend::new(security)?);
    for (id, tool) in [(1, "echo"), (2, "shell")] {
        let call = Message::request(&Id::from(id), "tools/call", &json!({"name": tool}))?;
        let answer = client.call(call).await;
        let blocked = answer.payload().get("/isError")?.is_some();
        println!("{tool} is {}", if blocked { "blocked" } else { "answered" });
    }
    Ok(())
}
