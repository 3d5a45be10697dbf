//! What every layer owes tower: pass-through, readiness, errors, drops, clones.

use std::task::Poll;

use futures::FutureExt;
use mcp_interceptors::{
    BoxError, McpService,
    chain::{Chain, ChainSource, Side},
    intercept::InterceptorLayer,
    interceptor::Interceptor,
    message::{Kind, Message},
    mutation::MutationLayer,
    reply::{Body, Reply},
    sink::SinkLayer,
    validation::ValidationLayer,
};
use tower::{Layer, Service, ServiceExt, util::BoxCloneSyncService};
use tower_test::mock;

use crate::{
    scripted::{chain, three},
    support::{CALL, Log, Stack, answer, call, notification, one, request_of},
};

type Backend = mock::Handle<Message, Reply>;

/// Each of the layers, and the three together.
fn layers<S>(chain: &Chain, inner: impl Fn() -> S) -> Vec<(&'static str, Stack)>
where
    S: McpService,
    S::Error: Into<BoxError>,
{
    let source = || ChainSource::from(chain);
    let stacked = tower::ServiceBuilder::new()
        .layer(MutationLayer::new(source()))
        .layer(ValidationLayer::new(source()))
        .layer(SinkLayer::new(source()));
    vec![
        (
            "mutation",
            BoxCloneSyncService::new(MutationLayer::new(source()).layer(inner())),
        ),
        (
            "validation",
            BoxCloneSyncService::new(ValidationLayer::new(source()).layer(inner())),
        ),
        (
            "sink",
            BoxCloneSyncService::new(SinkLayer::new(source()).layer(inner())),
        ),
        (
            "client side",
            BoxCloneSyncService::new(InterceptorLayer::client_side(source()).layer(inner())),
        ),
        (
            "server side",
            BoxCloneSyncService::new(InterceptorLayer::on(Side::Server, source()).layer(inner())),
        ),
        ("stacked", BoxCloneSyncService::new(stacked.service(inner()))),
    ]
}

/// The same, each over a mock of its own.
fn each(chain: &Chain) -> Vec<(&'static str, Stack, Backend)> {
    let handles = std::cell::RefCell::new(Vec::new());
    let services = layers(chain, || {
        let (inner, handle) = mock::pair();
        handles.borrow_mut().push(handle);
        inner
    });
    let both = services.into_iter().zip(handles.into_inner());
    both.map(|((name, service), handle)| (name, service, handle))
        .collect()
}

fn hooked() -> Chain {
    three(&Log::default(), &[CALL])
}

fn crashing_chain() -> Chain {
    chain([
        Interceptor::mutator("m")
            .on(CALL)
            .request()
            .handler(|| async { Err::<Option<mcp_interceptors::message::Payload>, _>("boom") }),
        crate::scripted::deny(CALL),
        Interceptor::sink("s")
            .on(CALL)
            .request()
            .on_overflow(mcp_interceptors::interceptor::Overflow::Block)
            .handler(|| async {}),
    ])
}

#[tokio::test]
async fn messages_and_replies_pass_as_they_are() {
    for chain in [Chain::builder().build().unwrap(), hooked()] {
        for (name, service, mut backend) in each(&chain) {
            for message in [
                call(),
                request_of("prompts/get"),
                notification("notifications/progress"),
                Message::listen(),
                Message::end(),
            ] {
                let expected = message.clone();
                let (reply, seen) = tokio::join!(service.clone().oneshot(message), async {
                    let (seen, send) = backend.next_request().await.unwrap();
                    let reply = match seen.kind() {
                        Kind::Request => Reply::one(answer()),
                        _ => Reply::accepted(),
                    };
                    send.send_response(reply);
                    seen
                });
                assert_eq!(seen, expected, "{name}");
                match (expected.kind(), reply.unwrap().body) {
                    (Kind::Request, Body::One(reply)) => assert_eq!(reply, answer(), "{name}"),
                    (Kind::Request, other) => panic!("{name}: {other:?}"),
                    (_, body) => assert!(matches!(body, Body::Accepted), "{name}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_does_not_touch_the_inner_service() {
    // A queue that has no room for the sink makes that one refuse too.
    let crashing = crashing_chain();
    for (name, service, mut backend) in each(&crashing) {
        if name == "sink" {
            continue; // See `overflow`.
        }
        let reply = one(service.clone().oneshot(call()).await.unwrap());
        assert!(reply.is_made_by_stack(), "{name}");
        drop(service);
        assert!(
            backend.next_request().now_or_never().flatten().is_none(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_inner_service_that_is_not_ready_is_not_called() {
    for chain in [Chain::builder().build().unwrap(), hooked()] {
        for (name, mut service, mut backend) in each(&chain) {
            backend.allow(0);
            let mut ready = tokio_test::task::spawn(());
            let poll = ready.enter(|cx, _| service.poll_ready(cx).map_err(|error| error.to_string()));
            assert_eq!(poll, Poll::Pending, "{name}");
            let mut running = tokio_test::task::spawn(service.oneshot(call()));
            tokio_test::assert_pending!(running.poll());
            let mut request = tokio_test::task::spawn(backend.next_request());
            tokio_test::assert_pending!(request.poll(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_hooked_message_waits_for_readiness_a_second_time() {
    for (name, mut service, mut backend) in each(&hooked()) {
        backend.allow(1);
        std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
        let mut running = tokio_test::task::spawn(service.call(call()));
        // The mock gives the permit back when the readied handle is dropped, and the run takes it again.
        tokio_test::assert_pending!(running.poll());
        let (seen, send) = backend.next_request().await.unwrap();
        assert_eq!(seen, call(), "{name}");
        send.send_response(Reply::one(answer()));
        assert_eq!(one(running.await.unwrap()), answer(), "{name}");
    }
}

#[tokio::test]
async fn an_inner_error_passes() {
    for chain in [Chain::builder().build().unwrap(), hooked()] {
        for (name, service, mut backend) in each(&chain) {
            let (reply, ()) = tokio::join!(service.oneshot(call()), async {
                let (_, send) = backend.next_request().await.unwrap();
                send.send_error("the backend is down");
            });
            assert_eq!(reply.unwrap_err().to_string(), "the backend is down", "{name}");
        }
    }
}

#[tokio::test]
async fn an_error_of_readiness_passes() {
    for chain in [Chain::builder().build().unwrap(), hooked()] {
        for (name, mut service, mut backend) in each(&chain) {
            backend.send_error("gone for good");
            let error = std::future::poll_fn(|cx| service.poll_ready(cx))
                .await
                .unwrap_err();
            assert_eq!(error.to_string(), "gone for good", "{name}");
        }
    }
}

#[tokio::test]
async fn dropped_while_interceptors_run_the_inner_service_is_not_called() {
    let hang = chain([
        Interceptor::mutator("m")
            .on(CALL)
            .request()
            .handler(std::future::pending::<Option<mcp_interceptors::message::Payload>>),
        Interceptor::validator("v")
            .on(CALL)
            .request()
            .handler(std::future::pending::<bool>),
    ]);
    for (name, service, mut backend) in each(&hang) {
        if name == "sink" {
            continue; // It holds nothing.
        }
        let mut running = tokio_test::task::spawn(service.oneshot(call()));
        tokio_test::assert_pending!(running.poll());
        drop(running);
        assert!(backend.next_request().await.is_none(), "{name}");
    }
}

#[tokio::test]
async fn dropped_while_the_inner_service_works_its_future_is_dropped() {
    for chain in [Chain::builder().build().unwrap(), hooked()] {
        let (sender, mut working) = tokio::sync::mpsc::unbounded_channel();
        let hanging = tower::service_fn(move |_: Message| {
            let (alive, dropped) = tokio::sync::oneshot::channel::<()>();
            sender.send(dropped).unwrap();
            async move {
                let _alive = alive;
                std::future::pending::<Result<Reply, BoxError>>().await
            }
        });
        for (name, service) in layers(&chain, || hanging.clone()) {
            let mut running = tokio_test::task::spawn(service.oneshot(call()));
            tokio_test::assert_pending!(running.poll());
            let mut dropped = tokio_test::task::spawn(working.recv().await.unwrap());
            tokio_test::assert_pending!(dropped.poll(), "{name}");
            drop(running);
            assert!(tokio_test::assert_ready!(dropped.poll()).is_err(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_clone_is_called_only_after_its_own_readiness() {
    // The mock panics when it is called without `poll_ready`.
    for chain in [Chain::builder().build().unwrap(), hooked()] {
        for (name, mut service, mut backend) in each(&chain) {
            std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
            let clone = service.clone();
            let answers = async {
                for _ in 0..2 {
                    let (_, send) = backend.next_request().await.unwrap();
                    send.send_response(Reply::one(answer()));
                }
            };
            let (first, second, ()) = tokio::join!(service.call(call()), clone.oneshot(call()), answers);
            assert_eq!(one(first.unwrap()), answer(), "{name}");
            assert_eq!(one(second.unwrap()), answer(), "{name}");
        }
    }
}
