//! The queue of a sink: bounded in bytes, counted when full, and blocking where it was told to.

use std::sync::Arc;

use futures::FutureExt;
use mcp_interceptors::{
    chain::{BlockKind, Chain, Report},
    interceptor::{Interceptor, Overflow},
    message::{Id, Message, Payload},
    reply::Reply,
};
use tokio::sync::{Semaphore, mpsc};
use tower::ServiceExt;

use crate::{
    scripted::backend,
    support::{BUILDS, Build, CALL, Log, SIDES, answer, call, next, one, stack, value},
};

/// A sink on `tools/call` in that phase that waits for a permit for each event, and tells what it has taken.
fn gated(
    overflow: Overflow,
    response: bool,
) -> (Interceptor, Arc<Semaphore>, mpsc::UnboundedReceiver<String>) {
    let gate = Arc::new(Semaphore::new(0));
    let (sender, receiver) = mpsc::unbounded_channel();
    let builder = Interceptor::sink("gated").on(CALL);
    let builder = if response {
        builder.response()
    } else {
        builder.request()
    };
    let sink = {
        let gate = Arc::clone(&gate);
        builder.on_overflow(overflow).handler(move |payload: Payload| {
            let (gate, sender) = (Arc::clone(&gate), sender.clone());
            async move {
                gate.acquire().await?.forget();
                sender.send(payload.as_json().to_owned())?;
                Ok::<_, mcp_interceptors::BoxError>(())
            }
        })
    };
    (sink, gate, receiver)
}

fn call_with(text: &str) -> Message {
    Message::request(
        &Id::from(7),
        CALL,
        &serde_json::json!({"name": "echo", "text": text}),
    )
    .unwrap()
}

fn with_bytes(sink: Interceptor, bytes: usize) -> Chain {
    Chain::builder()
        .interceptor(sink)
        .queue_bytes(bytes)
        .build()
        .unwrap()
}

#[tokio::test]
async fn what_waits_is_bounded_in_bytes_and_what_finds_no_room_is_counted() {
    for build in BUILDS {
        let (sink, gate, mut seen) = gated(Overflow::Drop, false);
        // Room for many small events, or two that are larger.
        let chain = with_bytes(sink, 10_000);
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), |_| Reply::one(answer())),
        );
        let large = "x".repeat(4_000);
        for _ in 0..4 {
            let reply = service.clone().oneshot(call_with(&large)).await.unwrap();
            assert_eq!(one(reply), answer(), "an event that is dropped blocks nothing");
        }
        assert_eq!(chain.dropped(), 2, "{build:?}");
        let reply = service.clone().oneshot(call_with("small")).await.unwrap();
        assert_eq!(one(reply), answer());
        assert_eq!(chain.dropped(), 2, "a small one still finds room");
        gate.add_permits(3);
        for expected in [&large, &large, "small"] {
            assert!(next(&mut seen).await.contains(expected), "in order");
        }
        chain.flush().await;
        assert!(seen.try_recv().is_err());
        // The room is free again.
        service.oneshot(call_with(&large)).await.unwrap();
        assert_eq!(chain.dropped(), 2);
    }
}

#[tokio::test]
async fn a_sink_that_must_record_blocks_what_its_queue_has_no_room_for() {
    for response in [false, true] {
        for side in SIDES {
            for build in BUILDS {
                let case = format!("{build:?} {side:?}, response: {response}");
                let (sink, gate, mut seen) = gated(Overflow::Block, response);
                let (sender, mut reports) = mpsc::unbounded_channel();
                let chain = Chain::builder()
                    .interceptor(sink)
                    .queue_bytes(400)
                    .observer(move |report: &Report| _ = sender.send(report.clone()))
                    .build()
                    .unwrap();
                let log = Log::default();
                let service = stack(build, side, &chain, backend(&log, |_| Reply::one(answer())));
                let first = one(service.clone().oneshot(call()).await.unwrap());
                assert_eq!(first, answer(), "{case}");
                log.take();
                let second = one(service.clone().oneshot(call()).await.unwrap());
                assert!(second.is_made_by_stack(), "{case}");
                assert_eq!(value(&second)["result"]["isError"], true, "{case}");
                let text = value(&second)["result"]["content"][0]["text"].to_string();
                assert!(text.contains("gated could not record the message"), "{text}");
                assert_eq!(log.take().len(), usize::from(response), "{case}");
                let report = next(&mut reports).await;
                assert_eq!(report.blocked.unwrap().kind, BlockKind::NotRecorded, "{case}");
                drop((first, second));
                gate.add_permits(2);
                chain.flush().await;
                assert!(seen.recv().await.is_some());
                assert!(seen.try_recv().is_err(), "{case}");
                // With room again the next one passes.
                assert_eq!(one(service.oneshot(call()).await.unwrap()), answer(), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn of_what_one_sink_could_not_record_the_others_see_nothing() {
    for build in BUILDS {
        let (must, _gate, _seen) = gated(Overflow::Block, false);
        let others = Log::default();
        let other = {
            let others = others.clone();
            // In front of the one that refuses.
            Interceptor::sink("a-first").on(CALL).request().handler(move || {
                others.push("seen");
                async {}
            })
        };
        let chain = Chain::builder()
            .interceptor(other)
            .interceptor(must)
            .queue_bytes(700)
            .build()
            .unwrap();
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), |_| Reply::one(answer())),
        );
        assert_eq!(one(service.clone().oneshot(call()).await.unwrap()), answer());
        while others.take().is_empty() {
            tokio::task::yield_now().await;
        }
        // The first event of `gated` still waits; with that of `a-first` the queue is full for a second one.
        let reply = one(service.oneshot(call()).await.unwrap());
        assert!(reply.is_made_by_stack());
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(others.take(), Vec::<String>::new(), "{build:?}");
    }
}

#[tokio::test]
async fn a_sink_that_must_record_and_cannot_read_blocks() {
    let text =
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}"#;
    for (overflow, blocks) in [(Overflow::Block, true), (Overflow::Drop, false)] {
        for build in BUILDS {
            let (sink, ..) = gated(overflow, false);
            let log = Log::default();
            let service = stack(
                build,
                SIDES[0],
                with_bytes(sink, 10_000),
                backend(&log, |_| Reply::one(answer())),
            );
            let reply = one(service.oneshot(Message::parse(text).unwrap()).await.unwrap());
            assert_eq!(reply.is_made_by_stack(), blocks, "{build:?}");
            assert_eq!(log.take().is_empty(), blocks, "{build:?}");
        }
    }
}

#[tokio::test]
async fn a_flush_waits_for_what_has_started() {
    for build in BUILDS {
        let (sink, gate, mut seen) = gated(Overflow::Drop, false);
        let chain = with_bytes(sink, 10_000);
        assert!(chain.flush().now_or_never().is_some(), "nothing has started");
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), |_| Reply::one(answer())),
        );
        service.oneshot(call()).await.unwrap();
        let mut flush = tokio_test::task::spawn(chain.flush());
        tokio_test::assert_pending!(flush.poll());
        gate.add_permits(1);
        flush.await;
        assert!(seen.try_recv().is_ok(), "{build:?}");
    }
}

#[tokio::test]
async fn a_flush_does_not_wait_for_a_reply_that_somebody_holds() {
    // Its sink has not been given anything yet.
    let (sink, gate, mut seen) = gated(Overflow::Drop, true);
    gate.add_permits(1);
    let chain = with_bytes(sink, 10_000);
    let service = tower::Layer::layer(
        &mcp_interceptors::sink::SinkLayer::new(&chain),
        backend(&Log::default(), |_| Reply::one(answer())),
    );
    let reply = service.oneshot(call()).await.unwrap();
    assert!(chain.flush().now_or_never().is_some());
    drop(reply);
    chain.flush().await;
    assert!(seen.try_recv().is_ok());
}

#[tokio::test]
async fn what_waits_does_not_keep_the_message_alive() {
    let (sender, mut payloads) = mpsc::unbounded_channel();
    let keep = Interceptor::sink("keep")
        .on(CALL)
        .request()
        .handler(move |payload: Payload| {
            sender.send(payload).unwrap();
            async {}
        });
    let chain = with_bytes(keep, 10_000);
    let service = stack(
        Build::Fused,
        SIDES[0],
        &chain,
        backend(&Log::default(), |_| Reply::one(answer())),
    );
    let message = call();
    let range = message.bytes().as_ptr_range();
    service.oneshot(message.clone()).await.unwrap();
    let payload = next(&mut payloads).await;
    assert!(!range.contains(&payload.as_json().as_ptr()));
    assert_eq!(payload.as_json(), message.payload().as_json());
}
