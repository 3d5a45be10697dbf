//! Crashes, panics, malformed answers, and what `failOpen` makes of them.

use std::sync::{Arc, Mutex};

use mcp_interceptors::{
    BoxError,
    chain::{Chain, Failure, Overrides, Report},
    interceptor::{
        AbortKind, ChainStatus, Interceptor, Invocation, MutationResult, Outcome, SinkResult,
        ValidationResult,
    },
    message::Payload,
};
use serde_json::json;

use crate::support::{
    CALL, Log, aborted_at, chain, crashing_mutator, crashing_validator, final_payload, mutator, names,
    noting_sink, noting_validator, request, run, setting, sink, validator,
};

#[tokio::test]
async fn cs_047_go_019_ts_007_ts_015_a_fail_open_mutator_that_crashes_is_passed_over() {
    let result = run([
        crashing_mutator(mutator("crashing").fail_open()),
        setting(mutator("later").priority(1), "reached"),
    ])
    .await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(
        final_payload(&result),
        Some(json!({"original": true, "reached": true}))
    );
}

#[tokio::test]
async fn cs_048_go_014_ts_014_a_fail_closed_mutator_that_crashes_stops_the_message() {
    let result = run([crashing_mutator(mutator("crashing"))]).await;
    assert_eq!(result.status, ChainStatus::MutationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("crashing", "failed: boom", AbortKind::Mutation))
    );
}

#[tokio::test]
async fn cs_049_ts_128_a_fail_open_validator_that_crashes_lets_pass() {
    let result = run([crashing_validator(validator("crashing").fail_open())]).await;
    assert_eq!((result.status, aborted_at(&result)), (ChainStatus::Success, None));
    assert_eq!(final_payload(&result), Some(json!({"original": true})));
}

#[tokio::test]
async fn cs_050_a_fail_closed_validator_that_crashes_blocks() {
    let result = run([crashing_validator(validator("crashing-validator"))]).await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("crashing-validator", "failed: boom", AbortKind::Validation))
    );
    assert_eq!(final_payload(&result), None);
}

#[tokio::test]
async fn cs_051_ts_008_a_sink_that_throws_has_recorded_nothing_and_stops_nothing() {
    let result = run([sink("audit").handler(|| async { Err::<(), _>("disk full") })]).await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(names(&result), ["audit"]);
    let outcome = result.results[0].outcome();
    assert_eq!(outcome, Some(&Outcome::from(SinkResult::skipped())));
}

#[tokio::test]
async fn py_011_overriding_fail_open_unblocks() {
    let crash = || crashing_validator(validator("crashing"));
    let with = |overrides| {
        Chain::builder()
            .interceptor_with(crash(), overrides)
            .build()
            .unwrap()
    };
    let closed = with(Overrides::new()).execute(request(json!({}))).await;
    assert_eq!(closed.status, ChainStatus::ValidationFailed);
    let open = with(Overrides::new().fail_open(true))
        .execute(request(json!({})))
        .await;
    assert_eq!(open.status, ChainStatus::Success);
}

#[tokio::test]
async fn py_012_mutations_are_atomic() {
    let log = Log::default();
    let result = run([
        setting(mutator("first"), "leaked"),
        crashing_mutator(mutator("second")),
        noting_validator(validator("v"), &log),
        noting_sink(sink("s"), &log),
    ])
    .await;
    assert_eq!(result.status, ChainStatus::MutationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("second", "failed: boom", AbortKind::Mutation))
    );
    assert_eq!(final_payload(&result), None);
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn ts_086_a_fail_closed_mutation_prevents_validation() {
    let log = Log::default();
    let result = run([
        crashing_mutator(mutator("m")),
        noting_validator(validator("v"), &log),
    ])
    .await;
    assert_eq!(
        aborted_at(&result),
        Some(("m", "failed: boom", AbortKind::Mutation))
    );
    assert_eq!(log.take(), Vec::<String>::new());
}

async fn report_of(interceptors: Vec<Interceptor>) -> Report {
    let seen = Arc::new(Mutex::new(None));
    let observer = {
        let seen = Arc::clone(&seen);
        move |report: &Report| *seen.lock().unwrap() = Some(report.clone())
    };
    let chain = Chain::builder().interceptors(interceptors).observer(observer);
    chain.build().unwrap().execute(request(json!({}))).await;
    let report = seen.lock().unwrap().take();
    report.unwrap()
}

#[tokio::test]
async fn go_001_go_002_a_failure_that_is_passed_over_is_recorded_as_one() {
    let report = report_of(vec![
        crashing_mutator(mutator("m").fail_open()),
        crashing_validator(validator("v").fail_open()),
        validator("fine").handler(|| async { true }),
    ])
    .await;
    assert_eq!(report.status, ChainStatus::Success);
    assert!(report.blocked.is_none());
    let outcomes: Vec<_> = report
        .records
        .iter()
        .map(|record| (&*record.interceptor, record.outcome.clone()))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("m", Err(Failure::Error("boom".into()))),
            ("v", Err(Failure::Error("boom".into()))),
            ("fine", Ok(ValidationResult::pass().into())),
        ]
    );
}

/// An interceptor that answers with whatever it is given.
fn answering(builder: Interceptor, outcome: Outcome) -> Interceptor {
    let descriptor = builder.descriptor().clone();
    Interceptor::new(
        descriptor,
        tower::service_fn(move |_: Invocation| {
            let outcome = outcome.clone();
            async move { Ok::<_, BoxError>(outcome) }
        }),
    )
}

#[tokio::test]
async fn py_033_ts_124_an_answer_of_another_type_is_a_failure() {
    let verdict = Outcome::from(ValidationResult::pass());
    let change = Outcome::from(MutationResult::modified(json!({"smuggled": true})));
    let recorded = Outcome::from(SinkResult::recorded());
    let validator = |open: bool| {
        let builder = validator("v");
        let builder = if open { builder.fail_open() } else { builder };
        builder.handler(|| async { true })
    };
    let mutator = |open: bool| {
        let builder = mutator("m");
        let builder = if open { builder.fail_open() } else { builder };
        builder.handler(|| async { None::<Payload> })
    };
    for wrong in [change.clone(), recorded.clone()] {
        let result = run([answering(validator(false), wrong.clone())]).await;
        assert_eq!(result.status, ChainStatus::ValidationFailed, "{wrong:?}");
        let result = run([answering(validator(true), wrong.clone())]).await;
        assert_eq!(result.status, ChainStatus::Success, "{wrong:?}");
        assert_eq!(final_payload(&result), Some(json!({"original": true})));
    }
    for wrong in [verdict, recorded] {
        let result = run([answering(mutator(false), wrong.clone())]).await;
        assert_eq!(result.status, ChainStatus::MutationFailed, "{wrong:?}");
        let result = run([answering(mutator(true), wrong.clone())]).await;
        assert_eq!(result.status, ChainStatus::Success, "{wrong:?}");
    }
    let sink = sink("s").handler(|| async {});
    let result = run([answering(sink, change)]).await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(
        result.results[0].outcome(),
        Some(&Outcome::from(SinkResult::skipped()))
    );
}

#[tokio::test]
async fn a_panic_is_a_failure_of_that_interceptor_and_of_nothing_else() {
    let in_call = Interceptor::new(
        validator("in-call")
            .handler(|| async { true })
            .descriptor()
            .clone(),
        tower::service_fn(|_: Invocation| -> std::future::Ready<Result<Outcome, BoxError>> {
            panic!("while making the future")
        }),
    );
    let report = report_of(vec![
        in_call,
        validator("in-poll").handler(|| async { panic!("while polled") as bool }),
        validator("fine").handler(|| async { ValidationResult::fail("still told") }),
    ])
    .await;
    let outcomes: Vec<_> = report
        .records
        .iter()
        .map(|record| record.outcome.clone())
        .collect();
    assert_eq!(
        outcomes,
        [
            Err(Failure::Panic("while making the future".into())),
            Err(Failure::Panic("while polled".into())),
            Ok(ValidationResult::fail("still told").into()),
        ]
    );
    assert_eq!(report.blocked.unwrap().interceptor.as_ref(), "in-call");
}

#[tokio::test]
async fn a_payload_that_is_no_object_any_more_is_a_failure_of_the_mutator() {
    for wrong in [json!(null), json!([1]), json!("text")] {
        let bad = mutator("m").handler(move || {
            let wrong = wrong.clone();
            async move { MutationResult::modified(wrong) }
        });
        let result = run([bad]).await;
        assert_eq!(
            aborted_at(&result),
            Some((
                "m",
                "malformed answer: the payload must stay an object",
                AbortKind::Mutation
            ))
        );
    }
}

#[tokio::test]
async fn a_mutator_cannot_smuggle_a_key_twice() {
    let twice = mutator("m")
        .handler(|| async { Ok::<_, BoxError>(Some(Payload::from_json(r#"{"a":{"b":1,"b":2}}"#)?)) });
    let result = run([twice]).await;
    assert_eq!(result.status, ChainStatus::MutationFailed);
}

#[tokio::test]
async fn what_cannot_be_read_is_a_failure_and_never_a_skip() {
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(127), "]".repeat(127));
    for text in [r#"{"a":{"b":1,"b":2}}"#, &deep] {
        let log = Log::default();
        let raw = || serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
        let params = || {
            mcp_interceptors::interceptor::ChainParams::new_raw(
                CALL,
                mcp_interceptors::interceptor::Phase::Request,
                raw(),
            )
        };
        let closed = chain([noting_validator(validator("v"), &log)]);
        assert_eq!(
            closed.execute(params()).await.status,
            ChainStatus::ValidationFailed
        );
        let open = chain([noting_validator(validator("v").fail_open(), &log)]);
        let result = open.execute(params()).await;
        assert_eq!(result.status, ChainStatus::Success);
        assert_eq!(result.final_payload.unwrap().get(), text);
        assert_eq!(log.take(), Vec::<String>::new());
    }
}
