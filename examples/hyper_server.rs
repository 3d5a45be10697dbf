//! Serves a stack with hyper alone. The innermost service is a function; it could be a gateway's backend.
//!
//! `cargo run --example hyper_server`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use mcp_interceptors::{
    BoxError, ServiceBuilderExt, duplex,
    http::{HttpBackend, StreamableHttp},
    message::{Id, Kind, Message},
    reply::Reply,
};
use serde_json::json;
use tower::ServiceBuilder;

async fn server(message: Message) -> Result<Reply, BoxError> {
    Ok(match message.kind() {
        Kind::Request => Reply::one(message.answer(Ok(&json!({"tools": []})))?),
        _ => Reply::accepted(),
    })
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let stack = ServiceBuilder::new()
        .rescue()
        .correlate()
        .deadline(Duration::from_secs(60))
        .in_flight(100)
        .service_fn(server);
    let service = TowerToHyperService::new(StreamableHttp::new(stack));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(connection), service.clone());
            tokio::spawn(connection);
        }
    });

    // Somebody asks it.
    let mut client = duplex::connect(HttpBackend::new(url)?);
    let answer = client
        .call(Message::bare_request(&Id::from(1), "tools/list"))
        .await;
    println!("{}", answer.as_json());
    Ok(())
}
