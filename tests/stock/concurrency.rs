//! `concurrency_limit` counts answers and cancels, and lets go at the head of a reply.

use std::sync::Arc;

use futures::StreamExt;
use mcp_interceptors::{
    BoxError, McpService, ServiceBuilderExt,
    interceptor::Interceptor,
    limit::{InFlightLayer, requests_only},
    message::Message,
    reply::Body,
};
use tokio::{sync::Semaphore, time::Instant};
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt, limit::GlobalConcurrencyLimitLayer,
    load_shed::error::Overloaded,
};

use crate::support::{Counted, LONG, SECOND, answer, asks, call, cancel, chain, client_answer, slow};

fn limit(permits: usize) -> GlobalConcurrencyLimitLayer {
    GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(permits)))
}

/// Makes two calls, waits until the server has asked twice, and answers with `reply`; whether both calls end.
async fn two_calls_end<S>(
    service: S,
    mut questions: tokio::sync::mpsc::UnboundedReceiver<()>,
    reply: fn(i64) -> Message,
) -> bool
where
    S: McpService<Error = BoxError>,
{
    let calls = (1..=2).map(|id| service.clone().oneshot(call(id)));
    let calls = tokio::spawn(futures::future::join_all(calls));
    for _ in 0..2 {
        questions.recv().await.unwrap();
    }
    let replies = (1..=2).map(|id| service.clone().oneshot(reply(id)));
    let all = async {
        futures::future::join_all(replies).await;
        calls.await.unwrap();
    };
    tokio::time::timeout(LONG, all).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn stock_is_a_deadlock_when_the_server_asks() {
    for reply in [client_answer, cancel] {
        let (backend, questions) = asks();
        let service = ServiceBuilder::new().layer(limit(2)).service(backend);
        assert!(!two_calls_end(service, questions, reply).await);
    }
}

#[tokio::test(start_paused = true)]
async fn the_cures_let_answers_and_cancels_past() {
    for reply in [client_answer, cancel] {
        let (backend, questions) = asks();
        let service = ServiceBuilder::new().requests_only(limit(2)).service(backend);
        assert!(two_calls_end(service, questions, reply).await);

        let (backend, questions) = asks();
        let service = ServiceBuilder::new().in_flight(2).service(backend);
        assert!(two_calls_end(service, questions, reply).await);
    }
}

#[tokio::test(start_paused = true)]
async fn stock_lets_go_at_the_head_and_ours_at_the_end() {
    let places = Arc::new(Semaphore::new(1));
    let stock = GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&places)).layer(slow(SECOND, true));
    let ours = InFlightLayer::new(1);
    let limited = ours.layer(slow(SECOND, true));
    let (stock, limited) = (
        stock.oneshot(call(1)).await.unwrap(),
        limited.oneshot(call(1)).await.unwrap(),
    );
    assert_eq!((places.available_permits(), ours.available()), (1, 0));
    let Body::Many(events) = limited.body else {
        panic!()
    };
    assert_eq!(events.count().await, 2);
    assert_eq!(ours.available(), 1);
    drop(stock);
}

/// A client that answers the server's question with the help of another call: held to the end of the first, one
/// place is not enough. It is refused, at once or in time, and never waits for good.
#[tokio::test(start_paused = true)]
async fn a_client_that_calls_again_while_it_is_asked_is_refused_and_not_stuck() {
    for wait in [std::time::Duration::ZERO, 3 * SECOND] {
        let (backend, mut questions) = asks();
        let service = InFlightLayer::new(1).wait(wait).layer(backend);
        let first = tokio::spawn(service.clone().oneshot(call(1)));
        questions.recv().await.unwrap();

        let started = Instant::now();
        let error = service.clone().oneshot(call(2)).await.unwrap_err();
        assert!(error.is::<Overloaded>());
        assert_eq!(started.elapsed(), wait);

        service.oneshot(client_answer(900)).await.unwrap();
        assert_eq!(answer(first.await.unwrap().unwrap()).await["id"], 1);
    }
}

/// The same with the stock layer, though it is applied to calls alone: waiting without bound is the deadlock.
#[tokio::test(start_paused = true)]
async fn stock_makes_such_a_client_wait_for_good() {
    let (backend, mut questions) = asks();
    let service = requests_only(limit(1)).layer(backend);
    let first = tokio::spawn(service.clone().oneshot(call(1)));
    questions.recv().await.unwrap();
    assert!(
        tokio::time::timeout(LONG, service.oneshot(call(2)))
            .await
            .is_err()
    );
    assert!(!first.is_finished());
    first.abort();
}

fn one_second() -> Interceptor {
    Interceptor::validator("v")
        .on("tools/call")
        .request()
        .handler(|| async {
            tokio::time::sleep(SECOND).await;
            true
        })
}

/// On a backend, below interceptors: no permit is held while they run.
#[tokio::test(start_paused = true)]
async fn on_a_backend_it_counts_calls_of_the_backend_alone() {
    let service = ServiceBuilder::new()
        .intercept_client_side(chain(one_second()))
        .layer(limit(1))
        .service(Counted::default().backend());
    let started = Instant::now();
    let calls = (0..4).map(|id| service.clone().oneshot(call(id)));
    for reply in futures::future::join_all(calls).await {
        reply.unwrap();
    }
    assert_eq!(started.elapsed(), SECOND);
}

/// A handle that was readied, and so holds the only permit, gives it back before the call asks for one.
#[tokio::test(start_paused = true)]
async fn on_a_backend_a_caller_who_keeps_his_handle_is_not_stuck() {
    let mut service = ServiceBuilder::new()
        .intercept_client_side(chain(one_second()))
        .layer(limit(1))
        .service(Counted::default().backend());
    for id in 0..2 {
        let reply = service.ready().await.unwrap().call(call(id));
        tokio::time::timeout(LONG, reply)
            .await
            .expect("no deadlock")
            .unwrap();
    }
}
