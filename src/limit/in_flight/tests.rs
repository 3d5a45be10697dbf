use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, load_shed::error::Overloaded};

use super::InFlightLayer;
use crate::{
    BoxError, McpService,
    message::{Id, Message},
    reply::{Body, Events, Opaque, Reply},
};

const SECOND: Duration = Duration::from_secs(1);

fn request(method: &str) -> Message {
    Message::bare_request(&Id::from(1), method)
}

/// `one` answers at once; `many` in a stream; `raw` with a body of bytes; `never` not at all.
fn limited(layer: &InFlightLayer) -> impl McpService<Error = BoxError> + use<> {
    layer.layer(tower::service_fn(|message: Message| async move {
        let answer = Message::response(&Id::from(1), &json!({}))?;
        Ok::<_, BoxError>(match message.method() {
            Some("one") => Reply::one(answer),
            Some("many") => Reply::many(Events::new(stream::iter([Ok::<_, BoxError>(answer)]))),
            Some("raw") => Reply::opaque(Opaque::stream(stream::iter([Ok(Bytes::from_static(b"x"))]))),
            Some("whole") => Reply::opaque(Bytes::from_static(b"x").into()),
            Some("fails") => return Err("no".into()),
            Some("never") => std::future::pending().await,
            _ => Reply::accepted(),
        })
    }))
}

async fn sheds(service: impl McpService<Error = BoxError>) -> bool {
    match service.oneshot(request("one")).await {
        Ok(_) => false,
        Err(error) => error.is::<Overloaded>(),
    }
}

#[tokio::test]
async fn a_place_is_held_until_the_stream_ends_or_is_dropped() {
    let layer = InFlightLayer::new(1);
    let service = limited(&layer);
    for ends in [true, false] {
        let reply = service.clone().oneshot(request("many")).await.unwrap();
        assert!(sheds(service.clone()).await);
        let Body::Many(mut events) = reply.body else {
            panic!()
        };
        assert!(events.next().await.is_some());
        assert!(sheds(service.clone()).await);
        if ends {
            assert!(events.next().await.is_none());
            assert_eq!(
                layer.available(),
                1,
                "free at the end, though the stream is still held"
            );
            assert!(events.next().await.is_none());
        }
        drop(events);
        assert_eq!(layer.available(), 1);
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_rpc_holds_its_place_while_it_arrives() {
    let layer = InFlightLayer::new(1);
    let service = limited(&layer);
    let reply = service.clone().oneshot(request("raw")).await.unwrap();
    assert!(sheds(service.clone()).await);
    let Body::Opaque(opaque) = reply.body else {
        panic!()
    };
    assert_eq!(opaque.into_stream().count().await, 1);
    assert_eq!(layer.available(), 1);
    let _whole = service.oneshot(request("whole")).await.unwrap();
    assert_eq!(layer.available(), 1);
}

#[tokio::test]
async fn a_place_comes_back_from_an_answer_an_error_and_a_dropped_call() {
    let layer = InFlightLayer::new(1);
    let service = limited(&layer);
    let _reply = service.clone().oneshot(request("one")).await.unwrap();
    assert_eq!(layer.available(), 1);
    service.clone().oneshot(request("fails")).await.unwrap_err();
    assert_eq!(layer.available(), 1);
    let mut call = tokio_test::task::spawn(service.clone().oneshot(request("never")));
    tokio_test::assert_pending!(call.poll());
    assert_eq!(layer.available(), 0);
    drop(call);
    assert_eq!(layer.available(), 1);
}

#[tokio::test]
async fn nothing_but_calls_needs_a_place() {
    let layer = InFlightLayer::new(0).wait(SECOND);
    let service = limited(&layer);
    for message in [
        Message::notification("notifications/cancelled", &json!({"requestId": 1})).unwrap(),
        Message::response(&Id::from(1), &json!({})).unwrap(),
        Message::listen(),
        Message::end(),
        request("subscriptions/listen"),
    ] {
        let mut call = tokio_test::task::spawn(service.clone().oneshot(message));
        tokio_test::assert_ready!(call.poll()).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_the_next_place_or_is_shed_in_time() {
    let layer = InFlightLayer::new(1).wait(2 * SECOND);
    let service = limited(&layer);
    let held = service.clone().oneshot(request("many")).await.unwrap();
    let started = Instant::now();
    assert!(sheds(service.clone()).await);
    assert_eq!(started.elapsed(), 2 * SECOND);

    let waiting = service.oneshot(request("one"));
    let free = async {
        tokio::time::sleep(SECOND).await;
        drop(held);
    };
    let (reply, ()) = tokio::join!(waiting, free);
    reply.unwrap();
    assert_eq!(started.elapsed(), 3 * SECOND);
}
