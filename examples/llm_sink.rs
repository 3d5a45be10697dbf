//! A sink that takes note of a program's own calls of a language model (`llm/completion`). It hands over and returns
//! at once: whoever works on the notes does so elsewhere, and no completion waits for it.
//!
//! `cargo run --example llm_sink`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use mcp_interceptors::{
    BoxError,
    chain::Chain,
    intercept::InterceptorLayer,
    interceptor::Interceptor,
    message::{Id, Message, Payload},
    reply::Reply,
};
use serde_json::json;
use tokio::sync::mpsc;
use tower::{ServiceBuilder, ServiceExt};

/// Stands for the model's API.
async fn model(prompt: Message) -> Result<Reply, BoxError> {
    let completion = json!({"model": "m", "choices": [{"text": "hello"}], "usage": {"totalTokens": 12}});
    Ok(Reply::one(prompt.answer(Ok(&completion))?))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (notes, mut taken) = mpsc::channel::<Payload>(100);
    let sink = Interceptor::sink("usage")
        .on("llm/completion")
        .response()
        .handler(move |completion: Payload| {
            // Full: this note is lost, which the chain's report says. The completion is not held up.
            let noted = notes.try_send(completion);
            async move { noted.map_err(BoxError::from) }
        });
    let chain = Chain::builder().interceptor(sink).build()?;
    let model = ServiceBuilder::new()
        .layer(InterceptorLayer::client_side(chain))
        .service_fn(model);

    let prompt = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let reply = model
        .oneshot(Message::request(&Id::from(1), "llm/completion", &prompt)?)
        .await?;
    let answer = reply.into_one(drop).await?.ok_or("no answer")?;
    println!("answer: {}", answer.payload().as_json());

    let note = taken.recv().await.ok_or("no note")?;
    if let Some(tokens) = note.get("/usage/totalTokens")? {
        println!("noted: {} tokens", tokens.raw());
    }
    Ok(())
}
