//! What a server does wrong, and that it concerns nobody else.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{Fake, Say, chains::run, error};
use crate::{
    chain::{Chain, Overrides},
    client::{Discovery, InterceptorServer, ServerErrorKind, discover},
    interceptor::ChainStatus,
};

fn faults() -> Vec<Say> {
    vec![
        Say::Hang,
        Say::Die,
        Say::Half,
        error(-32603, "boom", Some("failed")),
        error(-32000, "late", Some("timeout")),
        Say::Result(json!({"type": "sink", "recorded": true})),
        Say::Result(json!({"type": "mutation", "modified": false})),
        Say::Result(json!({"type": "from-the-future"})),
        Say::Result(json!({"type": "validation", "valid": true, "interceptor": "other"})),
        Say::Result(json!({"type": "validation", "valid": true, "phase": "response"})),
        Say::Result(json!({"type": "validation", "valid": 1})),
        Say::Result(json!({})),
        Say::Result(json!([])),
        Say::Raw(r#"{"jsonrpc":"2.0","id":12345,"result":{"type":"validation","valid":true}}"#),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_fault_is_a_failure_of_that_interceptor_and_fail_open_decides() {
    for (number, fault) in faults().into_iter().enumerate() {
        for fail_open in [false, true] {
            let bad = Fake::legacy().with("bad", json!({"type": "validation", "failOpen": fail_open}), {
                let fault = fault.clone();
                move |_| fault.clone()
            });
            let good = Fake::modern().validator("good").mutator("m", 0);
            let base = Chain::builder().override_on(
                "one",
                "bad",
                Overrides::new().timeout(Duration::from_millis(80)),
            );
            let servers = [bad.named("one"), good.named("two")];
            let discovery = Discovery::builder()
                .servers(servers)
                .chain(base)
                .start()
                .await
                .unwrap();
            let began = Instant::now();
            let result = run(&discovery, "x").await;
            assert!(began.elapsed() <= Duration::from_millis(81), "fault {number}");
            let expected = if fail_open {
                ChainStatus::Success
            } else {
                ChainStatus::ValidationFailed
            };
            assert_eq!(result.status, expected, "fault {number}, failOpen {fail_open}");
            if !fail_open {
                assert_eq!(result.aborted_at.unwrap().interceptor, "bad");
            }
            // The other validator and the mutator have both run.
            assert_eq!(good.count("interceptor/invoke"), 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ts_013_a_remote_mutator_may_refuse() {
    let fake = Fake::legacy().with("m", json!({"type": "mutation"}), |_| {
        Say::Result(json!({"type": "validation", "valid": false, "messages": [{"message": "no", "severity": "error"}]}))
    });
    let result = run(&discover([fake.named("s")]).await.unwrap(), "x").await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    assert_eq!(result.aborted_at.unwrap().interceptor, "m");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_end_is_cut_off() {
    let fake = Fake::legacy();
    fake.instead(
        "interceptors/list",
        Some(Say::Result(json!({"interceptors": [], "nextCursor": "again"}))),
    );
    let failed = fake.named("s").list_all(None).await.unwrap_err();
    assert_eq!(failed.kind(), ServerErrorKind::Malformed);
    assert_eq!(fake.count("interceptors/list"), 2);

    // New cursors for ever.
    let pages = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let inner = Fake::modern();
    let service = {
        let (pages, inner) = (pages.clone(), inner.service());
        tower::service_fn(move |message: crate::message::Message| {
            if message.is_request("interceptors/list") {
                let page = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                inner_list(page, &message)
            } else {
                Box::pin(tower::ServiceExt::oneshot(inner.clone(), message))
            }
        })
    };
    let server = InterceptorServer::builder("s").max_pages(7).service(service);
    let failed = server.list_all(None).await.unwrap_err();
    assert!(failed.text().contains("too many pages"), "{failed}");
    assert_eq!(pages.load(std::sync::atomic::Ordering::Relaxed), 7);
    assert!(discover([server]).await.is_err());
}

fn inner_list(
    page: u64,
    message: &crate::message::Message,
) -> futures::future::BoxFuture<'static, Result<crate::reply::Reply, crate::BoxError>> {
    let answer = message
        .answer(Ok(&json!({"interceptors": [], "nextCursor": page.to_string()})))
        .unwrap();
    Box::pin(std::future::ready(Ok(crate::reply::Reply::one(answer))))
}

#[tokio::test(start_paused = true)]
async fn listing_hangs_no_longer_than_a_call_may() {
    let fake = Fake::modern();
    fake.instead("interceptors/list", Some(Say::Hang));
    let server = InterceptorServer::builder("s")
        .call_timeout(Duration::from_secs(2))
        .service(fake.service());
    let began = Instant::now();
    assert!(discover([server]).await.is_err());
    assert_eq!(began.elapsed(), Duration::from_secs(2));
}
