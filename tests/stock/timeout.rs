//! `timeout` covers the head of a reply, and not the wait for readiness.

use std::sync::Arc;

use mcp_interceptors::{
    BoxError, ServiceBuilderExt, duplex,
    limit::DeadlineLayer,
    message::{Kind, Message},
    reply::Reply,
};
use tokio::{sync::Semaphore, time::Instant};
use tower::{ServiceBuilder, ServiceExt, limit::GlobalConcurrencyLimitLayer, timeout::error::Elapsed};

use crate::support::{Counted, LONG, SECOND, call, drain, is_timeout, slow};

#[tokio::test(start_paused = true)]
async fn stock_what_it_limits_depends_on_whether_the_server_reports_progress() {
    let limited = |backend| ServiceBuilder::new().timeout(5 * SECOND).service(backend);
    let error = limited(slow(3_600 * SECOND, false))
        .oneshot(call(1))
        .await
        .unwrap_err();
    assert!(error.is::<Elapsed>());

    let started = Instant::now();
    let reply = limited(slow(3_600 * SECOND, true))
        .oneshot(call(1))
        .await
        .unwrap();
    assert_eq!(drain(reply).await.unwrap().len(), 2);
    assert_eq!(started.elapsed(), 3_600 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn ours_limits_both_alike() {
    for reports in [false, true] {
        let service = ServiceBuilder::new()
            .deadline(5 * SECOND)
            .service(slow(3_600 * SECOND, reports));
        let started = Instant::now();
        let ended = match service.oneshot(call(1)).await {
            Ok(reply) => drain(reply).await,
            Err(error) => Err(error),
        };
        assert!(is_timeout(&ended.unwrap_err()), "reports: {reports}");
        assert_eq!(started.elapsed(), 5 * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn stock_does_not_limit_the_wait_for_readiness_and_ours_does() {
    let full = GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(0)));
    let stock = ServiceBuilder::new()
        .timeout(SECOND)
        .layer(full.clone())
        .service(Counted::default().backend());
    let waited = tokio::time::timeout(LONG, stock.oneshot(call(1))).await;
    assert!(waited.is_err(), "it waits for good");

    let ours = ServiceBuilder::new()
        .layer(DeadlineLayer::new().total(SECOND))
        .layer(full)
        .service(Counted::default().backend());
    let started = Instant::now();
    assert!(is_timeout(&ours.oneshot(call(1)).await.unwrap_err()));
    assert_eq!(started.elapsed(), SECOND);
}

/// On the whole stack its error becomes an answer, as a backend's own timeout does.
#[tokio::test(start_paused = true)]
async fn below_rescue_both_are_a_504() -> Result<(), BoxError> {
    let stock = ServiceBuilder::new()
        .rescue()
        .timeout(SECOND)
        .service(slow(LONG, false));
    let ours = ServiceBuilder::new()
        .rescue()
        .deadline(SECOND)
        .service(slow(LONG, false));
    for reply in [stock.oneshot(call(1)).await?, ours.oneshot(call(1)).await?] {
        assert_eq!(reply.head().unwrap().status, 504);
        let answer = crate::support::answer(reply).await;
        assert_eq!(answer["error"]["data"]["kind"], "backend_timeout");
    }
    Ok(())
}

/// Over a pipe the dropped call is a cancel already: the explicit one is not sent a second time.
#[cfg(feature = "stdio")]
#[tokio::test(start_paused = true)]
async fn a_child_is_told_once_that_a_call_was_too_late() {
    let (told, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let child = duplex::link(tower::service_fn(move |message: Message| {
        let told = told.clone();
        async move {
            told.send((message.kind(), message.method().map(str::to_owned)))?;
            if message.is_request("tools/call") {
                std::future::pending::<()>().await;
            }
            Ok::<_, BoxError>(match message.kind() {
                Kind::Request => Reply::one(crate::support::answer_to(&message)),
                _ => Reply::accepted(),
            })
        }
    }));
    let service = ServiceBuilder::new().deadline(SECOND).service(child);
    assert!(is_timeout(&service.clone().oneshot(call(1)).await.unwrap_err()));
    // What was sent before it has arrived when this has.
    service
        .oneshot(Message::bare_request(&2.into(), "ping"))
        .await
        .unwrap();
    let mut methods = Vec::new();
    while let Ok((_, method)) = seen.try_recv() {
        methods.extend(method.filter(|method| method != "ping"));
    }
    assert_eq!(methods, ["tools/call", "notifications/cancelled"]);
}
