//! The two matrices of mode × failOpen × behaviour, generated.

use mcp_interceptors::interceptor::{
    AbortKind, ChainStatus, InterceptorBuilder, Mode, MutationResult, Severity, ValidationResult,
};
use serde_json::json;

use crate::support::{aborted_at, final_payload, mutator, run, validator};

fn with<K>(builder: InterceptorBuilder<K>, mode: Mode, fail_open: bool) -> InterceptorBuilder<K> {
    let builder = builder.mode(mode);
    if fail_open { builder.fail_open() } else { builder }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Valid,
    InvalidError,
    InvalidWarn,
    Crash,
}

fn verdict(verdict: Verdict) -> Result<ValidationResult, &'static str> {
    match verdict {
        Verdict::Valid => Ok(ValidationResult::pass()),
        Verdict::InvalidError => Ok(ValidationResult::fail("no")),
        Verdict::InvalidWarn => Ok(ValidationResult::fail("hm").with_severity(Severity::Warn)),
        Verdict::Crash => Err("boom"),
    }
}

#[tokio::test]
async fn ts_095_to_ts_110_validators_block_iff_active_and_crashed_closed_or_said_error() {
    let mut cases = 0;
    for mode in [Mode::Active, Mode::Audit] {
        for fail_open in [false, true] {
            for behaviour in [
                Verdict::Valid,
                Verdict::InvalidError,
                Verdict::InvalidWarn,
                Verdict::Crash,
            ] {
                cases += 1;
                let case = format!("{mode:?}, failOpen {fail_open}, {behaviour:?}");
                let builder = with(validator("v"), mode, fail_open);
                let result = run([builder.handler(move || async move { verdict(behaviour) })]).await;
                let crashed = behaviour == Verdict::Crash && !fail_open;
                let blocks = mode == Mode::Active && (crashed || behaviour == Verdict::InvalidError);
                if blocks {
                    assert_eq!(result.status, ChainStatus::ValidationFailed, "{case}");
                    let (who, _, kind) = aborted_at(&result).unwrap();
                    assert_eq!((who, kind), ("v", AbortKind::Validation), "{case}");
                    assert_eq!(final_payload(&result), None, "{case}");
                } else {
                    assert_eq!(result.status, ChainStatus::Success, "{case}");
                    assert_eq!(aborted_at(&result), None, "{case}");
                    assert_eq!(final_payload(&result), Some(json!({"original": true})), "{case}");
                }
            }
        }
    }
    assert_eq!(cases, 16);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Modifies,
    Leaves,
    Crash,
}

fn change(change: Change) -> Result<MutationResult, &'static str> {
    match change {
        Change::Modifies => Ok(MutationResult::modified(json!({"changed": true}))),
        Change::Leaves => Ok(MutationResult::unmodified()),
        Change::Crash => Err("boom"),
    }
}

#[tokio::test]
async fn ts_111_to_ts_122_mutators_apply_iff_active_and_stop_iff_they_crashed_closed() {
    let mut cases = 0;
    for mode in [Mode::Active, Mode::Audit] {
        for fail_open in [false, true] {
            for behaviour in [Change::Modifies, Change::Leaves, Change::Crash] {
                cases += 1;
                let case = format!("{mode:?}, failOpen {fail_open}, {behaviour:?}");
                let builder = with(mutator("m"), mode, fail_open);
                let result = run([builder.handler(move || async move { change(behaviour) })]).await;
                if mode == Mode::Active && behaviour == Change::Crash && !fail_open {
                    assert_eq!(result.status, ChainStatus::MutationFailed, "{case}");
                    let reason = ("m", "failed: boom", AbortKind::Mutation);
                    assert_eq!(aborted_at(&result), Some(reason), "{case}");
                    assert_eq!(final_payload(&result), None, "{case}");
                } else {
                    assert_eq!(result.status, ChainStatus::Success, "{case}");
                    let applied = mode == Mode::Active && behaviour == Change::Modifies;
                    let expected = if applied {
                        json!({"changed": true})
                    } else {
                        json!({"original": true})
                    };
                    assert_eq!(final_payload(&result), Some(expected), "{case}");
                }
            }
        }
    }
    assert_eq!(cases, 12);
}
