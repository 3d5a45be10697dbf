//! `rate_limit` is not `Clone`, so it goes behind a `buffer`; and it is for calls alone.

use mcp_interceptors::{ServiceBuilderExt, check, limit::requests_only};
use tokio::time::Instant;
use tower::{Layer, ServiceBuilder, ServiceExt, buffer::BufferLayer, limit::RateLimitLayer};

use crate::support::{Counted, SECOND, call, client_answer};

#[tokio::test(start_paused = true)]
async fn behind_a_buffer_it_limits_every_message() {
    let count = Counted::default();
    let service = check(
        ServiceBuilder::new()
            .rescue()
            .buffer(8)
            .rate_limit(1, SECOND)
            .service(count.backend()),
    );
    let started = Instant::now();
    let messages = [call(1), client_answer(900), call(2)];
    let replies = messages.map(|message| service.clone().oneshot(message));
    futures::future::try_join_all(replies).await.unwrap();
    assert_eq!(
        (started.elapsed(), count.get()),
        (2 * SECOND, 3),
        "the answer has waited too"
    );
}

#[tokio::test(start_paused = true)]
async fn applied_to_calls_alone_it_lets_answers_past() {
    let limited = ServiceBuilder::new()
        .layer(BufferLayer::new(8))
        .layer(RateLimitLayer::new(1, SECOND))
        .into_inner();
    let service = requests_only(limited).layer(Counted::default().backend());
    let started = Instant::now();
    service.clone().oneshot(call(1)).await.unwrap();
    service.clone().oneshot(client_answer(900)).await.unwrap();
    assert!(started.elapsed() < SECOND);
    service.oneshot(call(2)).await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
}
