//! Interceptors and backends that do as they are told and note that they did.

use std::{convert::Infallible, sync::Arc};

use mcp_interceptors::{
    BoxError,
    chain::Chain,
    interceptor::{Interceptor, Invocation, ValidationResult},
    message::{Message, Payload},
    reply::Reply,
};
use tokio::sync::mpsc;
use tower::util::BoxCloneSyncService;

use crate::support::Log;

/// A backend that notes each message and answers with what `reply` makes of it.
pub(crate) fn backend<F>(log: &Log, reply: F) -> BoxCloneSyncService<Message, Reply, Infallible>
where
    F: Fn(&Message) -> Reply + Clone + Send + Sync + 'static,
{
    let log = log.clone();
    BoxCloneSyncService::new(tower::service_fn(move |message: Message| {
        log.push(format!("backend {}", message.as_json()));
        let reply = reply(&message);
        async move { Ok(reply) }
    }))
}

/// Mutator, validator and sink on each event and in both phases; `M`, `V` and `S` in the log.
pub(crate) fn three(log: &Log, events: &[&str]) -> Chain {
    let note = |letter: &'static str| {
        let log = log.clone();
        move |invocation: &Invocation| log.push(format!("{letter} {} {}", invocation.event, invocation.phase))
    };
    let (m, v, s) = (note("M"), note("V"), note("S"));
    let mut mutator = Interceptor::mutator("m");
    let mut validator = Interceptor::validator("v");
    let mut sink = Interceptor::sink("s");
    for event in events {
        mutator = mutator.on(event).both();
        validator = validator.on(event).both();
        sink = sink.on(event).both();
    }
    Chain::builder()
        .interceptor(mutator.handler(move |invocation: Invocation| {
            m(&invocation);
            async { None::<Payload> }
        }))
        .interceptor(validator.handler(move |invocation: Invocation| {
            v(&invocation);
            async { true }
        }))
        .interceptor(sink.handler(move |invocation: Invocation| {
            s(&invocation);
            async {}
        }))
        .build()
        .unwrap()
}

/// A validator that blocks that event in the request phase.
pub(crate) fn deny(event: &str) -> Interceptor {
    Interceptor::validator(format!("deny {event}"))
        .on(event)
        .request()
        .handler(|| async { ValidationResult::fail("no") })
}

/// A validator that blocks the answer to that event.
pub(crate) fn deny_answer(event: &str) -> Interceptor {
    Interceptor::validator("deny-answer")
        .on(event)
        .response()
        .handler(|| async { ValidationResult::fail("no") })
}

/// A sink on the answers to an event that sends their payloads.
pub(crate) fn answer_sink(event: &str) -> (Interceptor, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let sender = Arc::new(sender);
    let sink = Interceptor::sink("sink")
        .on(event)
        .response()
        .handler(move |payload: Payload| {
            let sent = sender.send(payload.as_json().to_owned());
            async move { sent.map_err(BoxError::from) }
        });
    (sink, receiver)
}

pub(crate) fn chain(interceptors: impl IntoIterator<Item = Interceptor>) -> Chain {
    Chain::builder().interceptors(interceptors).build().unwrap()
}
