//! Permits: none is held while interceptors run, and nobody waits for one he holds.

use std::sync::Arc;

use mcp_interceptors::{BoxError, interceptor::Interceptor, message::Message, reply::Reply};
use tokio::{sync::Semaphore, time::Instant};
use tower::{Layer, Service, ServiceExt, limit::GlobalConcurrencyLimitLayer};

use crate::{
    scripted::chain,
    support::{BUILDS, CALL, MS, SIDES, answer, call, one, stack},
};

fn limited(permits: usize) -> impl mcp_interceptors::McpService<Error = BoxError> {
    let limit = GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(permits)));
    limit.layer(tower::service_fn(|_: Message| async {
        Ok::<_, BoxError>(Reply::one(answer()))
    }))
}

fn one_second() -> Interceptor {
    Interceptor::validator("slow")
        .on(CALL)
        .request()
        .handler(|| async {
            tokio::time::sleep(1_000 * MS).await;
            true
        })
}

#[tokio::test(start_paused = true)]
async fn no_permit_is_held_while_interceptors_run() {
    for side in SIDES {
        for build in BUILDS {
            let service = stack(build, side, chain([one_second()]), limited(1));
            let started = Instant::now();
            let calls = (0..4).map(|_| service.clone().oneshot(call()));
            for reply in futures::future::join_all(calls).await {
                assert_eq!(one(reply.unwrap()), answer());
            }
            assert_eq!(started.elapsed(), 1_000 * MS, "{build:?} {side:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_keeps_the_handle_he_readied_does_not_block_himself() {
    for side in SIDES {
        for build in BUILDS {
            let mut service = stack(build, side, chain([one_second()]), limited(1));
            std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
            let reply = service.call(call());
            let reply = tokio::time::timeout(2_000 * MS, reply).await;
            assert_eq!(one(reply.expect("no deadlock").unwrap()), answer());
            // And the handle is good for another call.
            std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
            assert_eq!(one(service.call(call()).await.unwrap()), answer());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_permit_of_a_dropped_call_is_given_back() {
    for build in BUILDS {
        let service = stack(build, SIDES[0], chain([one_second()]), limited(1));
        let dropped = tokio::time::timeout(500 * MS, service.clone().oneshot(call())).await;
        assert!(dropped.is_err());
        let reply = tokio::time::timeout(1_500 * MS, service.oneshot(call())).await;
        assert_eq!(one(reply.expect("the permit is free").unwrap()), answer());
    }
}

#[tokio::test]
async fn a_service_that_is_gone_when_the_interceptors_are_done_is_an_error() {
    for build in BUILDS {
        let (inner, mut backend) = tower_test::mock::pair::<Message, Reply>();
        let (go, wait) = tokio::sync::watch::channel(false);
        let gate = Interceptor::validator("gate")
            .on(CALL)
            .request()
            .handler(move || {
                let mut wait = wait.clone();
                async move { wait.wait_for(|open| *open).await.map(|_| true) }
            });
        let service = stack(build, SIDES[0], chain([gate]), inner);
        let mut running = tokio_test::task::spawn(service.oneshot(call()));
        tokio_test::assert_pending!(running.poll());
        backend.send_error("gone meanwhile");
        go.send(true).unwrap();
        assert_eq!(
            running.await.unwrap_err().to_string(),
            "gone meanwhile",
            "{build:?}"
        );
    }
}
