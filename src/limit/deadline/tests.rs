use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, mpsc},
    time::{Instant, sleep},
};
use tower::{Layer, ServiceExt, limit::GlobalConcurrencyLimitLayer};

use super::DeadlineLayer;
use crate::{
    BoxError, McpService,
    message::{Exchange, Id, Kind, Message},
    proxy::{BackendError, BackendErrorKind},
    reply::{Body, Event, Events, Opaque, Reply, Sse},
};

const SECOND: Duration = Duration::from_secs(1);

fn request(method: &str) -> Message {
    Message::bare_request(&Id::from_json("1.0").unwrap(), method)
}

fn progress() -> Message {
    Message::notification("notifications/progress", &json!({})).unwrap()
}

fn answer() -> Message {
    Message::response(&Id::from(1), &json!({})).unwrap()
}

/// One item a second.
fn slow<T: Send + 'static>(
    items: Vec<T>,
) -> impl futures::Stream<Item = Result<T, BoxError>> + Send + 'static {
    stream::iter(items).then(|item| async {
        sleep(SECOND).await;
        Ok(item)
    })
}

/// A backend that knows some ways to be slow, and what it was told beside the calls.
fn backend() -> (
    impl McpService<Error = BoxError>,
    mpsc::UnboundedReceiver<Message>,
) {
    let (told, messages) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |message: Message| {
        let told = told.clone();
        async move {
            if message.kind() == Kind::Notification {
                told.send(message)?;
                return Ok(Reply::accepted());
            }
            Ok::<_, BoxError>(match message.method() {
                Some("answers") => {
                    let mut items = vec![progress(); 4];
                    items.push(answer());
                    Reply::many(Events::new(slow(items)))
                }
                Some("stays open") => {
                    let events = stream::iter([Ok::<_, BoxError>(answer())]).chain(stream::pending());
                    Reply::many(Events::new(events))
                }
                Some("floods") => {
                    Reply::many(Events::new(stream::repeat_with(|| Ok::<_, BoxError>(progress()))))
                }
                Some("breathes") => {
                    let comment = Event::bare(Sse::parse(Bytes::from_static(b": alive\n\n")));
                    Reply::many(Events::new(slow(vec![comment; 10])))
                }
                Some("raw") => Reply::opaque(Opaque::stream(slow(vec![Bytes::from_static(b"x"); 10]))),
                _ => {
                    sleep(10 * SECOND).await;
                    Reply::accepted()
                }
            })
        }
    });
    (service, messages)
}

async fn messages(reply: Reply) -> Vec<Result<Message, BoxError>> {
    let Body::Many(events) = reply.body else {
        panic!("{:?}", reply.body)
    };
    events
        .filter_map(|event| async { event.map(Event::into_message).transpose() })
        .collect()
        .await
}

/// With a deadline: a test that waits in vain must end.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(60 * SECOND, future)
        .await
        .expect("in a minute")
}

fn timed_out(error: &BoxError) -> bool {
    error
        .downcast_ref::<BackendError>()
        .is_some_and(|error| error.kind() == BackendErrorKind::Timeout)
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_reply_is_limited() {
    for layer in [
        DeadlineLayer::new().total(SECOND),
        DeadlineLayer::new().idle(SECOND),
    ] {
        let started = Instant::now();
        let (backend, _told) = backend();
        let error = layer.layer(backend).oneshot(request("slow")).await.unwrap_err();
        assert!(timed_out(&error), "{error}");
        assert_eq!(started.elapsed(), SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn the_total_limit_lasts_until_the_stream_ends() {
    let (backend, _told) = backend();
    let service = DeadlineLayer::new()
        .total(3_500 * Duration::from_millis(1))
        .layer(backend);
    let started = Instant::now();
    let reply = service.oneshot(request("answers")).await.unwrap();
    let mut got = messages(reply).await;
    assert!(timed_out(&got.pop().unwrap().unwrap_err()));
    assert_eq!(got.len(), 3);
    assert_eq!(started.elapsed(), Duration::from_millis(3_500));
}

#[tokio::test(start_paused = true)]
async fn the_idle_limit_begins_anew_with_each_message() {
    let limits = DeadlineLayer::new().idle(1_500 * Duration::from_millis(1));
    let (backend, _told) = backend();
    let service = limits.layer(backend);
    let got = messages(service.clone().oneshot(request("answers")).await.unwrap()).await;
    assert_eq!(got.len(), 5);
    assert!(got.iter().all(Result::is_ok));
    // A comment is no message.
    let got = messages(service.oneshot(request("breathes")).await.unwrap()).await;
    assert_eq!(got.len(), 1);
    assert!(timed_out(got[0].as_ref().unwrap_err()));
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_nobody_reads_is_not_silence() {
    let (backend, _told) = backend();
    let service = DeadlineLayer::new().idle(2 * SECOND).layer(backend);
    let reply = service.oneshot(request("answers")).await.unwrap();
    let Body::Many(mut events) = reply.body else {
        panic!()
    };
    for _ in 0..5 {
        sleep(60 * SECOND).await;
        events.next().await.unwrap().unwrap();
    }
    assert!(events.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_pauses_ends_too() {
    let (backend, _told) = backend();
    let service = DeadlineLayer::new().total(SECOND).layer(backend);
    let reply = service.oneshot(request("floods")).await.unwrap();
    let Body::Many(mut events) = reply.body else {
        panic!()
    };
    assert!(events.next().await.unwrap().is_ok());
    sleep(SECOND).await;
    assert!(timed_out(&events.next().await.unwrap().unwrap_err()));
    assert!(events.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_ends_without_an_error_when_its_stream_stays_open() {
    let (backend, mut told) = backend();
    let service = DeadlineLayer::new().total(SECOND).layer(backend);
    let got = messages(service.oneshot(request("stays open")).await.unwrap()).await;
    assert_eq!(got.len(), 1);
    assert!(got[0].is_ok());
    assert!(told.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_no_json_rpc_is_limited() {
    let (backend, _told) = backend();
    let service = DeadlineLayer::new()
        .total(2_500 * Duration::from_millis(1))
        .layer(backend);
    let reply = service.oneshot(request("raw")).await.unwrap();
    let Body::Opaque(opaque) = reply.body else {
        panic!()
    };
    let pieces: Vec<_> = opaque.into_stream().collect().await;
    assert_eq!(pieces.len(), 3);
    assert!(timed_out(pieces[2].as_ref().unwrap_err()));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_backend_is_told_in_the_exchange_of_the_call() {
    let (backend, mut told) = backend();
    let service = DeadlineLayer::new().total(SECOND).layer(backend);
    let exchange = Arc::new(Exchange::new().with_session("s"));
    let call = request("slow").with_exchange(exchange);
    service.clone().oneshot(call).await.unwrap_err();
    let cancelled = soon(told.recv()).await.unwrap();
    assert_eq!(
        cancelled.as_json(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0,"reason":"the call took too long"}}"#
    );
    assert_eq!(cancelled.exchange().session(), Some("s"));
    // In the middle of a stream as well.
    messages(service.oneshot(request("answers")).await.unwrap()).await;
    assert!(soon(told.recv()).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn initialize_and_modern_calls_are_cancelled_by_being_dropped_alone() {
    let (backend, mut told) = backend();
    let service = DeadlineLayer::new().total(SECOND).layer(backend);
    let version = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let modern = Message::request(&Id::from(1), "slow", &version).unwrap();
    for call in [request("initialize"), modern] {
        assert!(timed_out(&service.clone().oneshot(call).await.unwrap_err()));
        sleep(SECOND).await;
        assert!(told.try_recv().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_readiness_counts() {
    let full = GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(0)));
    let (backend, _told) = backend();
    let service = DeadlineLayer::new().total(SECOND).layer(full.layer(backend));
    let started = Instant::now();
    assert!(timed_out(&service.oneshot(request("x")).await.unwrap_err()));
    assert_eq!(started.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn nothing_but_calls_is_limited() {
    let (backend, _told) = backend();
    let service = DeadlineLayer::new().total(SECOND).idle(SECOND).layer(backend);
    for message in [
        Message::response(&Id::from(1), &Value::Null).unwrap(),
        Message::listen(),
        Message::end(),
        request("subscriptions/listen"),
    ] {
        let started = Instant::now();
        service.clone().oneshot(message).await.unwrap();
        assert_eq!(started.elapsed(), 10 * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_beyond_all_time_is_none() {
    let (backend, _told) = backend();
    let service = DeadlineLayer::new()
        .total(Duration::MAX)
        .idle(Duration::MAX)
        .layer(backend);
    service.oneshot(request("slow")).await.unwrap();
}
