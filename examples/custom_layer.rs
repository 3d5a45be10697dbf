//! A layer of one's own, in the two ways there are: as a function, and as a `Layer` and a `Service`.
//!
//! `cargo run --example custom_layer`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::task::{Context, Poll};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use mcp_interceptors::{
    BoxError, McpService, check,
    message::{ErrorObject, Id, Message},
    middleware::{Next, from_fn},
    reply::Reply,
};
use serde_json::json;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

/// As a function: refuses a tool.
async fn no_shell(message: Message, next: Next) -> Result<Reply, BoxError> {
    if message.is_request("tools/call") && message.name() == Some("shell") {
        let refusal = ErrorObject::new(-32602, "no shell here");
        return Ok(Reply::one(message.answer::<()>(Err(&refusal))?));
    }
    next.run(message).await
}

/// As a layer: prints each message in both directions.
#[derive(Clone)]
struct PrintLayer;

#[derive(Clone)]
struct Print<S>(S);

// The bound makes the compiler point at the service that is not `Clone`.
impl<S: Clone> Layer<S> for PrintLayer {
    type Service = Print<S>;

    fn layer(&self, inner: S) -> Print<S> {
        Print(inner)
    }
}

impl<S: McpService> Service<Message> for Print<S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Reply, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, message: Message) -> Self::Future {
        println!("in:  {}", message.as_json());
        let reply = self.0.call(message).map_err(Into::into);
        // One message or a stream of them: it is all the same to `map_messages`.
        let printed = reply.map_ok(|reply| {
            reply.map_messages(|message| {
                println!("out: {}", message.as_json());
                message
            })
        });
        printed.boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let stack = ServiceBuilder::new()
        .layer(PrintLayer)
        .layer(from_fn(no_shell))
        .service_fn(|message: Message| async move {
            Ok::<_, BoxError>(Reply::one(message.answer(Ok(&json!({"content": []})))?))
        });
    // What a stack lacks the compiler says here.
    let stack = check(stack);
    for (id, tool) in [(1, "echo"), (2, "shell")] {
        let call = Message::request(&Id::from(id), "tools/call", &json!({"name": tool}))?;
        stack.clone().oneshot(call).await?.into_one(drop).await?;
    }
    Ok(())
}
