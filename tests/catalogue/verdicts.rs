//! What blocks.

use std::sync::Arc;

use mcp_interceptors::{
    BoxError,
    chain::Side,
    interceptor::{
        AbortKind, ChainStatus, Mode, MutationResult, Outcome, Phase, Severity, ValidationMessage,
        ValidationResult,
    },
    message::Payload,
};
use serde_json::json;
use tokio::sync::Barrier;

use crate::support::{
    Log, aborted_at, chain, final_payload, mutator, names, noting_mutator, noting_sink, noting_validator,
    run, run_on, setting, sink, summary, validator,
};

#[tokio::test]
async fn cs_044_py_006_ts_005_a_validator_error_blocks() {
    let result = run([validator("strict-val").handler(|| async { ValidationResult::fail("nope") })]).await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("strict-val", "nope", AbortKind::Validation))
    );
    assert_eq!(final_payload(&result), None);
    assert_eq!(summary(&result), (1, 0, 0));
}

#[tokio::test]
async fn cs_044_what_was_blocked_reaches_no_sink() {
    let log = Log::default();
    let result = run([
        validator("no").handler(|| async { false }),
        noting_sink(sink("sink"), &log),
    ])
    .await;
    assert_eq!(names(&result), ["no"]);
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn cs_045_py_010_ts_006_ts_123_an_audit_mutator_is_a_shadow() {
    let shadow = mutator("shadow")
        .mode(Mode::Audit)
        .handler(|| async { MutationResult::modified(json!({"shadowed": true})) });
    let result = run([shadow]).await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(names(&result), ["shadow"]);
    assert_eq!(result.results[0].mode, Mode::Audit);
    let Some(Outcome::Mutation(mutation)) = result.results[0].outcome() else {
        panic!("{:?}", result.results)
    };
    assert!(mutation.modified);
    assert_eq!(
        mutation.payload.as_ref().map(Payload::as_json),
        Some(r#"{"shadowed":true}"#)
    );
    assert_eq!(final_payload(&result), Some(json!({"original": true})));
}

#[tokio::test]
async fn cs_046_py_009_ts_012_an_audit_validator_never_blocks() {
    let audit = validator("audit")
        .mode(Mode::Audit)
        .handler(|| async { ValidationResult::fail("bad") });
    let result = run([audit]).await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(summary(&result), (1, 0, 0));
    assert_eq!(aborted_at(&result), None);
    assert_eq!(final_payload(&result), Some(json!({"original": true})));
}

#[tokio::test]
async fn cs_055_ts_016_findings_are_counted_by_severity() {
    let result = run([
        validator("one").handler(|| async { ValidationResult::pass().inform("i").warn("w") }),
        validator("two").handler(|| async { ValidationResult::pass().warn("w") }),
    ])
    .await;
    assert_eq!(summary(&result), (0, 2, 1));
    assert_eq!(result.status, ChainStatus::Success);
}

#[tokio::test]
async fn py_007_go_015_ts_092_warn_and_info_do_not_block() {
    for severity in [Severity::Warn, Severity::Info] {
        let lenient = validator("lenient").handler(move || async move {
            ValidationResult::fail("hm")
                .with_severity(severity)
                .with_message(ValidationMessage::new(severity, "more"))
        });
        let result = run([setting(mutator("m"), "mutated"), lenient]).await;
        assert_eq!(result.status, ChainStatus::Success, "{severity:?}");
        assert_eq!(
            final_payload(&result),
            Some(json!({"original": true, "mutated": true}))
        );
    }
}

#[tokio::test]
async fn py_008_invalid_without_severity_blocks() {
    let silent = validator("silent").handler(|| async {
        let mut verdict = ValidationResult::pass();
        verdict.valid = false;
        verdict
    });
    let result = run([silent]).await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("silent", "refused", AbortKind::Validation))
    );
    assert_eq!(summary(&result), (1, 0, 0));
}

#[tokio::test]
async fn a_valid_verdict_with_error_findings_does_not_block() {
    let odd = validator("odd").handler(|| async {
        ValidationResult::pass().with_message(ValidationMessage::new(Severity::Error, "said anyway"))
    });
    let result = run([odd]).await;
    assert_eq!(
        (result.status, summary(&result)),
        (ChainStatus::Success, (1, 0, 0))
    );
}

#[tokio::test]
async fn py_005_ts_091_validators_that_wait_for_each_other_both_finish() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = |name| {
        let barrier = Arc::clone(&barrier);
        validator(name).handler(move || {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                true
            }
        })
    };
    let result = run([meet("a"), meet("b")]).await;
    assert_eq!(
        (result.status, names(&result)),
        (ChainStatus::Success, vec!["a", "b"])
    );
}

#[tokio::test]
async fn ts_025_all_validations_finish_after_an_error_and_are_aggregated() {
    let result = run([
        validator("error").handler(|| async { ValidationResult::fail("e") }),
        validator("warning").handler(|| async {
            tokio::task::yield_now().await;
            ValidationResult::pass().warn("w")
        }),
    ])
    .await;
    assert_eq!(names(&result), ["error", "warning"]);
    assert_eq!(summary(&result), (1, 1, 0));
}

#[tokio::test]
async fn ts_093_of_several_blockers_the_first_in_declaration_order_is_named() {
    let late = Arc::new(tokio::sync::Notify::new());
    let (first, second) = (Arc::clone(&late), late);
    let result = run([
        validator("zulu").handler(move || {
            let first = Arc::clone(&first);
            async move {
                first.notified().await;
                ValidationResult::fail("declared first, done last")
            }
        }),
        validator("alpha").priority(-5).handler(move || {
            second.notify_one();
            async { ValidationResult::fail("done first") }
        }),
    ])
    .await;
    assert_eq!(
        aborted_at(&result),
        Some(("zulu", "declared first, done last", AbortKind::Validation))
    );
    assert_eq!(summary(&result), (2, 0, 0));
}

#[tokio::test]
async fn ts_013_a_mutator_that_answers_with_a_failed_validation_blocks() {
    let log = Log::default();
    let refusing = mutator("guard").handler(|| async { Outcome::from(ValidationResult::fail("not this")) });
    let result = run([refusing, noting_validator(validator("later"), &log)]).await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    assert_eq!(
        aborted_at(&result),
        Some(("guard", "not this", AbortKind::Validation))
    );
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn ts_085_a_response_that_validation_blocks_is_not_mutated() {
    let log = Log::default();
    let chain = chain([
        noting_mutator(mutator("m"), &log),
        validator("no").handler(|| async { false }),
    ]);
    let result = run_on(Side::Client, &chain, Phase::Response).await;
    assert_eq!(result.status, ChainStatus::ValidationFailed);
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn go_016_on_the_side_of_a_server_a_blocked_request_is_not_mutated() {
    let log = Log::default();
    let chain = chain([
        noting_mutator(mutator("m"), &log),
        validator("no").handler(|| async { false }),
    ]);
    let result = run_on(Side::Server, &chain, Phase::Request).await;
    assert_eq!(
        (result.status, names(&result)),
        (ChainStatus::ValidationFailed, vec!["no"])
    );
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn ts_094_results_say_who_and_in_which_phase() {
    let chain = chain([validator("v").handler(|| async { true })]);
    for phase in [Phase::Request, Phase::Response] {
        let result = run_on(Side::Client, &chain, phase).await;
        let stamped = &result.results[0];
        assert_eq!((&*stamped.interceptor, stamped.phase), ("v", phase));
        assert!(stamped.duration.is_some());
    }
}

#[tokio::test]
async fn py_025_a_finding_keeps_its_path() {
    let picky = validator("v").handler(|payload: Payload| async move {
        let missing = payload.get("/bad")?.is_none();
        Ok::<_, BoxError>(if missing {
            ValidationResult::fail("missing").with_path("bad")
        } else {
            ValidationResult::pass()
        })
    });
    let result = run([picky]).await;
    let Some(Outcome::Validation(verdict)) = result.results[0].outcome() else {
        panic!("{:?}", result.results)
    };
    assert_eq!(verdict.severity, Some(Severity::Error));
    assert_eq!(verdict.messages[0].path.as_deref(), Some("bad"));
}
