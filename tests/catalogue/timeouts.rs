//! Budgets, in paused time.

use std::{future::pending, time::Duration};

use mcp_interceptors::{
    chain::Chain,
    interceptor::{AbortKind, ChainStatus, Interceptor, Mode, Outcome, SinkResult},
    message::Payload,
};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    Log, aborted_at, chain, crashing_mutator, final_payload, mutator, noting_mutator, noting_validator,
    request, setting, sink, validator,
};

const MS: Duration = Duration::from_millis(1);

fn hanging_mutator(name: &str) -> Interceptor {
    mutator(name).handler(|| pending::<Option<Payload>>())
}

fn hanging_validator(name: &str) -> Interceptor {
    validator(name).handler(|| pending::<bool>())
}

#[tokio::test(start_paused = true)]
async fn py_014_ts_017_ts_047_ts_125_ts_126_the_budget_of_the_phase_ends_in_timeout() {
    for hanging in [hanging_mutator("slow"), hanging_validator("slow")] {
        let started = Instant::now();
        let params = request(json!({})).with_timeout(200 * MS);
        let result = chain([setting(mutator("a"), "x"), hanging]).execute(params).await;
        assert_eq!(started.elapsed(), 200 * MS);
        assert_eq!(result.status, ChainStatus::Timeout);
        let reason = "the phase's budget was used up";
        assert_eq!(aborted_at(&result), Some(("slow", reason, AbortKind::Timeout)));
        assert_eq!(final_payload(&result), None);
    }
}

#[tokio::test(start_paused = true)]
async fn cs_020_go_018_ts_023_an_own_timeout_is_a_failure_of_the_interceptor() {
    let slow = mutator("slow")
        .timeout(50 * MS)
        .handler(|| pending::<Option<Payload>>());
    let started = Instant::now();
    let result = chain([slow]).execute(request(json!({}))).await;
    assert_eq!(started.elapsed(), 50 * MS);
    assert_eq!(result.status, ChainStatus::MutationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("slow", "timed out after 50ms", AbortKind::Mutation))
    );
}

#[tokio::test(start_paused = true)]
async fn go_017_a_validator_that_times_out_blocks_and_with_fail_open_does_not() {
    let slow = || validator("slow").timeout(5 * MS);
    let result = chain([slow().handler(|| pending::<bool>())])
        .execute(request(json!({})))
        .await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    let result = chain([slow().fail_open().handler(|| pending::<bool>())])
        .execute(request(json!({})))
        .await;
    assert_eq!(result.status, ChainStatus::Success);
}

#[tokio::test(start_paused = true)]
async fn only_active_work_that_must_not_fail_becomes_a_timeout() {
    let chain = chain([
        mutator("open")
            .fail_open()
            .handler(|| pending::<Option<Payload>>()),
        noting_mutator(mutator("quick").priority(1), &Log::default()),
        noting_validator(validator("checks"), &Log::default()),
    ]);
    let started = Instant::now();
    let params = request(json!({"a": 1})).with_timeout(100 * MS);
    let result = chain.execute(params).await;
    assert_eq!(started.elapsed(), 100 * MS);
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(final_payload(&result), Some(json!({"a": 1})));
}

#[tokio::test(start_paused = true)]
async fn audits_and_sinks_have_their_own_budget_and_never_become_a_timeout() {
    let chain = Chain::builder()
        .interceptor(
            mutator("audit-m")
                .mode(Mode::Audit)
                .handler(|| pending::<Option<Payload>>()),
        )
        .interceptor(
            validator("audit-v")
                .mode(Mode::Audit)
                .handler(|| pending::<bool>()),
        )
        .interceptor(sink("sink").handler(|| pending::<()>()))
        .off_path_timeout(700 * MS)
        .build()
        .unwrap();
    let started = Instant::now();
    let result = chain
        .execute(request(json!({"a": 1})).with_timeout(100 * MS))
        .await;
    // They wait at the same time, each within its own budget.
    assert_eq!(started.elapsed(), 700 * MS);
    assert_eq!(result.status, ChainStatus::Success);
    let skipped = Outcome::from(SinkResult::skipped());
    let outcomes: Vec<_> = result.results.iter().map(|result| result.outcome()).collect();
    assert_eq!(outcomes, [Some(&skipped)]);
}

#[tokio::test(start_paused = true)]
async fn ts_026_a_caller_who_cancels_gets_no_timeout() {
    let chain = chain([hanging_mutator("slow")]);
    let params = request(json!({})).with_timeout(200 * MS);
    let cancelled = tokio::time::timeout(10 * MS, chain.execute(params)).await;
    assert!(cancelled.is_err(), "the run was dropped, not ended as a result");
}

#[tokio::test(start_paused = true)]
async fn a_budget_covers_readiness() {
    // `pending` readiness: a limit whose only permit is taken.
    let limit = tower::limit::GlobalConcurrencyLimitLayer::with_semaphore(std::sync::Arc::new(
        tokio::sync::Semaphore::new(0),
    ));
    let starved = noting_validator(validator("starved").timeout(30 * MS), &Log::default()).layer(limit);
    let started = Instant::now();
    let result = chain([starved]).execute(request(json!({}))).await;
    assert_eq!(started.elapsed(), 30 * MS);
    assert_eq!(
        aborted_at(&result),
        Some(("starved", "timed out after 30ms", AbortKind::Validation))
    );
}

#[tokio::test(start_paused = true)]
async fn one_budget_spans_mutators_and_validators() {
    let takes = |time: Duration| {
        move || async move {
            tokio::time::sleep(time).await;
            None::<Payload>
        }
    };
    let chain = chain([
        mutator("a").handler(takes(60 * MS)),
        mutator("b").handler(takes(60 * MS)),
        noting_validator(validator("v"), &Log::default()),
    ]);
    let started = Instant::now();
    let result = chain.execute(request(json!({})).with_timeout(100 * MS)).await;
    assert_eq!(started.elapsed(), 100 * MS);
    assert_eq!(result.status, ChainStatus::Timeout);
    assert_eq!(aborted_at(&result).unwrap().0, "b");
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_the_deadline_is_no_timeout() {
    let result = chain([crashing_mutator(mutator("m"))])
        .execute(request(json!({})).with_timeout(MS))
        .await;
    assert_eq!(result.status, ChainStatus::MutationFailed);
}
