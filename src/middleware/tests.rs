use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::sync::Semaphore;
use tower::{ServiceBuilder, ServiceExt, limit::GlobalConcurrencyLimitLayer};

use super::{Next, from_fn};
use crate::{
    BoxError,
    message::{Exchange, Id, Kind, Message},
    reply::Reply,
};

fn request() -> Message {
    Message::bare_request(&Id::from(1), "tools/list")
}

async fn backend(message: Message) -> Result<Reply, std::io::Error> {
    Ok(message
        .answer(Ok(&json!({})))
        .map_or_else(|_| Reply::accepted(), Reply::one))
}

#[tokio::test]
async fn functions_stack_in_order_over_a_backend_with_any_error() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let seen = Arc::clone(&seen);
        from_fn(move |message, next: Next| {
            let seen = Arc::clone(&seen);
            async move {
                seen.lock().unwrap().push(format!("{name} in"));
                let reply = next.run(message).await;
                seen.lock().unwrap().push(format!("{name} out"));
                reply
            }
        })
    };
    let service = ServiceBuilder::new()
        .layer(note("a"))
        .layer(note("b"))
        .service_fn(backend);
    crate::check(service.clone()).oneshot(request()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["a in", "b in", "b out", "a out"]);
}

#[tokio::test]
async fn every_kind_of_message_comes_this_way() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let service = ServiceBuilder::new()
        .layer(from_fn(move |message, next| {
            counted.fetch_add(1, Ordering::Relaxed);
            next.run(message)
        }))
        .service_fn(backend);
    let messages = [
        request(),
        Message::notification("notifications/x", &json!({})).unwrap(),
        Message::response(&Id::from(1), &json!({})).unwrap(),
        Message::listen(),
        Message::end(),
    ];
    for message in messages {
        service.clone().oneshot(message).await.unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 5);
}

#[tokio::test]
async fn next_can_be_called_twice() {
    let service = ServiceBuilder::new()
        .layer(from_fn(|message: Message, next: Next| async move {
            next.clone().run(message.clone()).await?;
            next.run(message).await
        }))
        .service_fn(backend);
    let reply = service.oneshot(request()).await.unwrap();
    assert!(reply.into_one(drop).await.unwrap().is_some());
}

/// With one permit: the service that was readied gives its own back before `next` asks for one.
#[tokio::test(start_paused = true)]
async fn no_permit_is_held_while_the_function_works() {
    let limit = GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(1)));
    let mut service = ServiceBuilder::new()
        .layer(from_fn(|message, next: Next| async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            next.run(message).await
        }))
        .layer(limit)
        .service_fn(backend);
    let started = tokio::time::Instant::now();
    let calls = (0..4).map(|_| service.clone().oneshot(request()));
    for reply in futures::future::join_all(calls).await {
        reply.unwrap();
    }
    assert_eq!(started.elapsed(), std::time::Duration::from_secs(1));
    let reply = service.ready().await.unwrap();
    let reply = tower::Service::call(reply, request());
    let reply = tokio::time::timeout(std::time::Duration::from_secs(5), reply).await;
    reply.expect("the readied handle does not block itself").unwrap();
}

#[tokio::test]
async fn what_is_delivered_has_the_exchange_of_the_call_and_outlives_it() {
    let (told, mut delivered) = tokio::sync::mpsc::unbounded_channel();
    let service = ServiceBuilder::new()
        .layer(from_fn(|_: Message, next: Next| async move {
            let cancel = Message::notification("notifications/x", &json!({}))?;
            next.deliver(cancel)?;
            Ok(Reply::accepted())
        }))
        .service_fn(move |message: Message| {
            let told = told.clone();
            async move {
                told.send(message)?;
                Ok::<_, BoxError>(Reply::accepted())
            }
        });
    let exchange = Arc::new(Exchange::new().with_session("s"));
    service.oneshot(request().with_exchange(exchange)).await.unwrap();
    let message = delivered.recv().await.unwrap();
    assert_eq!(
        (message.kind(), message.exchange().session()),
        (Kind::Notification, Some("s"))
    );
}
