//! Where nothing hooks a message the layers allocate nothing and read nothing of its payload.
//!
//! The counter counts the allocations of its own thread.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test itself may"
)]

use std::{
    future::{Ready, ready},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use mcp_interceptors::{
    BoxError,
    chain::{Chain, ChainSource, SharedChain},
    intercept::InterceptorLayer,
    interceptor::Interceptor,
    message::{Asked, Era, Id, Message, Payload},
    mutation::MutationLayer,
    reply::{Body, Reply},
    sink::SinkLayer,
    validation::ValidationLayer,
};
use tower::{Layer, Service, ServiceBuilder};

/// A backend whose one reply is made beforehand, and which keeps what it got.
#[derive(Clone)]
struct Backend(Arc<Mutex<(Option<Reply>, Option<Message>)>>);

impl Service<Message> for Backend {
    type Response = Reply;
    type Error = BoxError;
    type Future = Ready<Result<Reply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let mut slot = self.0.lock().unwrap();
        slot.1 = Some(message);
        ready(Ok(slot.0.take().unwrap()))
    }
}

/// A payload that nobody can read: a key twice, too deep, a lone surrogate, a number no double holds.
fn odd() -> String {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    format!(r#"{{ "name":"a", "x":{{"k":1,"k":2}}, "deep":{deep}, "s":"\ud800", "n":1e999 }}"#)
}

fn request() -> Message {
    let text = r#"{"jsonrpc":"2.0", "id":"an-id", "method":"tools/call", "params":"#;
    Message::parse(format!("{text}{}}}", odd())).unwrap()
}

fn answer(id: &str) -> Message {
    Message::parse(format!(r#"{{"result":{}, "id":{id},"jsonrpc":"2.0"}}"#, odd())).unwrap()
}

/// Chains of all three kinds that have nothing to do with `tools/call`, its answer, or `notifications/progress`.
fn idle_chains() -> Vec<(&'static str, Chain)> {
    let nothing = Chain::builder().build().unwrap();
    let of = |events: [&str; 3]| {
        let mut chain = Chain::builder();
        for event in events {
            let named = |kind: &str| format!("{kind} {event}");
            chain = chain
                .interceptor(
                    Interceptor::mutator(named("m"))
                        .on(event)
                        .both()
                        .handler(|| async { None::<Payload> }),
                )
                .interceptor(
                    Interceptor::validator(named("v"))
                        .on(event)
                        .both()
                        .handler(|| async { false }),
                )
                .interceptor(
                    Interceptor::sink(named("s"))
                        .on(event)
                        .both()
                        .handler(|| async {}),
                );
        }
        chain.build().unwrap()
    };
    vec![
        ("nothing", nothing),
        (
            "other events",
            of(["tools/list", "ping", "sampling/createMessage"]),
        ),
        (
            "other namespaces",
            of(["prompts/*", "roots/*", "notifications/message"]),
        ),
    ]
}

/// Calls the service once and returns what it answered, and how many allocations that took.
fn call<S>(service: &mut S, message: Message) -> (Reply, u64)
where
    S: Service<Message, Response = Reply, Error = BoxError>,
{
    let mut reply = None;
    let info = allocation_counter::measure(|| {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut cx).is_ready());
        let mut call = pin!(service.call(message));
        match call.as_mut().poll(&mut cx) {
            Poll::Ready(ready) => reply = Some(ready),
            Poll::Pending => panic!("an idle layer waits for nothing"),
        }
    });
    (reply.unwrap().unwrap(), info.count_total)
}

fn check<L>(name: &str, layer: &L)
where
    L: Layer<Backend>,
    L::Service: Service<Message, Response = Reply, Error = BoxError>,
{
    let asked = Asked::new("elicitation/create", Some(Id::from(5)), Era::Legacy);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":{"b":1,"b":2}}}"#;
    for (kind, message, reply) in [
        ("request", request(), Some(answer(r#""an-id""#))),
        ("notification", Message::parse(progress).unwrap(), None),
        (
            "client's answer",
            answer("5").with_in_reply_to(asked.into()),
            None,
        ),
        ("listen", Message::listen(), None),
        ("end", Message::end(), None),
    ] {
        let slot = match &reply {
            Some(reply) => Reply::one(reply.clone()),
            None => Reply::accepted(),
        };
        let backend = Backend(Arc::new(Mutex::new((Some(slot), None))));
        let mut service = layer.layer(backend.clone());
        let sent = message.clone();
        let (got, allocations) = call(&mut service, message);
        assert_eq!(allocations, 0, "{name}: {kind}");
        let seen = backend.0.lock().unwrap().1.take().unwrap();
        assert_eq!(seen, sent, "{name}: {kind}");
        assert_eq!(
            seen.bytes().as_ptr(),
            sent.bytes().as_ptr(),
            "{name}: the very bytes"
        );
        match (got.body, reply) {
            (Body::One(got), Some(reply)) => {
                assert_eq!(got, reply, "{name}");
                assert_eq!(
                    got.bytes().as_ptr(),
                    reply.bytes().as_ptr(),
                    "{name}: the very bytes"
                );
            }
            (Body::Accepted, None) => {}
            (got, _) => panic!("{name}: {kind}: {got:?}"),
        }
    }
}

#[test]
fn idle_layers_allocate_nothing_and_read_no_payload() {
    for (name, chain) in idle_chains() {
        let source = || ChainSource::from(&chain);
        check(&format!("mutation, {name}"), &MutationLayer::new(source()));
        check(&format!("validation, {name}"), &ValidationLayer::new(source()));
        check(&format!("sink, {name}"), &SinkLayer::new(source()));
        check(
            &format!("client side, {name}"),
            &InterceptorLayer::client_side(source()),
        );
        check(
            &format!("server side, {name}"),
            &InterceptorLayer::server_side(source()),
        );
        let stacked = ServiceBuilder::new()
            .layer(MutationLayer::new(source()))
            .layer(ValidationLayer::new(source()))
            .layer(SinkLayer::new(source()));
        check(&format!("stacked, {name}"), &stacked);
    }
}

#[test]
fn a_snapshot_of_a_chain_that_can_be_swapped_is_taken_once_for_all_layers() {
    let (_, chain) = idle_chains().remove(1);
    let shared = SharedChain::new(chain);
    let allocations = |layers: usize| {
        let backend = Backend(Arc::new(Mutex::new((
            Some(Reply::one(answer(r#""an-id""#))),
            None,
        ))));
        let layer = || ValidationLayer::new(shared.clone());
        match layers {
            1 => call(&mut layer().layer(backend), request()).1,
            _ => {
                call(
                    &mut layer().layer(layer().layer(layer().layer(backend))),
                    request(),
                )
                .1
            }
        }
    };
    // The first look at it in a thread also sets up what arc-swap keeps for the thread.
    let _ = shared.current();
    let one = allocations(1);
    assert!(
        (1..=3).contains(&one),
        "{one}: the slot of the exchange and the snapshot in it"
    );
    assert_eq!(allocations(3), one);
}

#[test]
fn the_counter_counts_and_a_hooked_message_is_seen_to_allocate() {
    assert_eq!(
        allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1)))).count_total,
        1
    );
    let hooked = Chain::builder()
        .interceptor(
            Interceptor::validator("v")
                .on("tools/call")
                .response()
                .handler(|| async { true }),
        )
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let plain = Message::parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
    let backend = Backend(Arc::new(Mutex::new((Some(Reply::one(plain)), None))));
    let message = Message::bare_request(&Id::from(1), "tools/call");
    let (_, allocations) = call(&mut ValidationLayer::new(hooked).layer(backend), message);
    assert!(allocations > 0);
}
