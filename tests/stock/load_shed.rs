//! `load_shed` sheds whatever comes, answers and cancels too.

use std::sync::Arc;

use mcp_interceptors::{
    BoxError, ServiceBuilderExt,
    limit::requests_only,
    message::Message,
    middleware::{Next, from_fn},
    reply::Reply,
};
use tokio::sync::Semaphore;
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt,
    limit::GlobalConcurrencyLimitLayer,
    load_shed::{LoadShed, LoadShedLayer, error::Overloaded},
};

use crate::support::{Counted, answer, asks, call, cancel, chain, client_answer, passes};

fn limit(permits: usize) -> GlobalConcurrencyLimitLayer {
    GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(permits)))
}

fn is_shed<T>(result: Result<T, BoxError>) -> bool {
    result.is_err_and(|error| error.is::<Overloaded>())
}

#[tokio::test(start_paused = true)]
async fn stock_loses_the_answer_and_the_cancel_and_the_server_hangs() {
    let (backend, mut questions) = asks();
    let service = ServiceBuilder::new().load_shed().layer(limit(1)).service(backend);
    let running = tokio::spawn(service.clone().oneshot(call(1)));
    questions.recv().await.unwrap();
    assert!(is_shed(service.clone().oneshot(client_answer(900)).await));
    assert!(is_shed(service.oneshot(cancel(1)).await));
    assert!(!running.is_finished());
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn applied_to_calls_alone_it_sheds_calls_and_the_rest_arrives() {
    let (backend, mut questions) = asks();
    let shed = ServiceBuilder::new().load_shed().layer(limit(1)).into_inner();
    let service = requests_only(shed).layer(backend);
    let running = tokio::spawn(service.clone().oneshot(call(1)));
    questions.recv().await.unwrap();
    assert!(is_shed(service.clone().oneshot(call(2)).await));
    service.oneshot(client_answer(900)).await.unwrap();
    assert_eq!(answer(running.await.unwrap().unwrap()).await["id"], 1);
}

/// On the whole stack, below `RescueLayer`, it is an answer that says so.
#[tokio::test]
async fn below_rescue_it_is_a_503() {
    let service = ServiceBuilder::new()
        .rescue()
        .load_shed()
        .layer(limit(0))
        .service(Counted::default().backend());
    let reply = service.oneshot(call(1)).await.unwrap();
    assert_eq!(reply.head().unwrap().status, 503);
    assert_eq!(answer(reply).await["error"]["data"]["kind"], "overloaded");
}

/// Called without `poll_ready` it does not panic: it refuses. So every layer of ours must ask.
#[tokio::test]
async fn each_layer_of_ours_asks_for_readiness_before_it_calls() {
    let mut unasked = LoadShed::new(Counted::default().backend());
    assert!(is_shed(unasked.call(call(1)).await), "the trap is still there");

    async fn pass(message: Message, next: Next) -> Result<Reply, BoxError> {
        next.run(message).await
    }
    let count = Counted::default();
    let service = ServiceBuilder::new()
        .rescue()
        .load_shed()
        .correlate()
        .load_shed()
        .intercept_client_side(chain(passes(&Counted::default())))
        .load_shed()
        .layer(from_fn(pass))
        .load_shed()
        .deadline(crate::support::SECOND)
        .load_shed()
        .in_flight(1)
        .load_shed()
        .layer(requests_only(LoadShedLayer::new()))
        .load_shed()
        .service(mcp_interceptors::proxy::McpProxyService::new(
            ServiceBuilder::new().load_shed().service(count.backend()),
        ));
    for id in 0..2 {
        let reply = service.clone().oneshot(call(id)).await.unwrap();
        assert_eq!(answer(reply).await["id"], id, "not shed");
    }
    assert_eq!(count.get(), 2);
}
