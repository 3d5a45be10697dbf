//! What a whole run of interceptors came to.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::members::text;
use super::{Phase, Severity, ValidationResult, WireResult, millis};

/// How a run ended (SEP-2624, chain `status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChainStatus {
    /// The message may pass, with the final payload.
    Success,
    /// A verdict stops the message, or a validator failed.
    ValidationFailed,
    /// A mutator failed.
    MutationFailed,
    /// The time for the whole run was up.
    Timeout,
}

impl ChainStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ValidationFailed => "validation_failed",
            Self::MutationFailed => "mutation_failed",
            Self::Timeout => "timeout",
        }
    }
}

impl fmt::Display for ChainStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What stopped a run (SEP-2624, `abortedAt.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AbortKind {
    /// A verdict, or a validator that failed.
    Validation,
    /// A mutator that failed.
    Mutation,
    /// The time for the whole run was up.
    Timeout,
}

/// Where and why a run stopped (SEP-2624, `abortedAt`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AbortedAt {
    /// The interceptor.
    pub interceptor: String,
    /// Why, for people.
    pub reason: String,
    /// What stopped it (`type` on the wire; one peer says `kind`).
    #[serde(rename = "type", alias = "kind")]
    pub kind: AbortKind,
}

impl AbortedAt {
    /// Where and why.
    #[must_use]
    pub fn new(kind: AbortKind, interceptor: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            interceptor: interceptor.into(),
            reason: reason.into(),
            kind,
        }
    }
}

/// How many findings a run had, by severity (SEP-2624, `validationSummary`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ValidationSummary {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Remarks.
    pub infos: u64,
}

impl ValidationSummary {
    /// Counts one finding.
    pub fn count(&mut self, severity: Severity) {
        *match severity {
            Severity::Error => &mut self.errors,
            Severity::Warn => &mut self.warnings,
            Severity::Info => &mut self.infos,
        } += 1;
    }

    /// Counts the findings of a verdict. A refusal without findings counts once, with its effective severity.
    pub fn add(&mut self, verdict: &ValidationResult) {
        for message in &verdict.messages {
            self.count(message.severity);
        }
        if verdict.messages.is_empty() && !verdict.valid {
            self.count(verdict.effective_severity());
        }
    }
}

/// What a run of interceptors came to (SEP-2624, chain result).
///
/// It has a final payload only when the run succeeded: mutations are atomic, so the half-changed payload of a
/// failed run is shown to nobody.
///
/// ```
/// use mcp_interceptors::interceptor::{ChainResult, ChainStatus, Phase};
///
/// let result = ChainResult::new(ChainStatus::Success, "tools/call", Phase::Request);
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"status":"success","event":"tools/call","phase":"request","results":[],"validationSummary":{"errors":0,"warnings":0,"infos":0},"totalDurationMs":0}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChainResult {
    /// How it ended.
    pub status: ChainStatus,
    /// The event.
    pub event: String,
    /// The phase.
    pub phase: Phase,
    /// What each interceptor answered.
    #[serde(default)]
    pub results: Vec<WireResult>,
    /// The payload with all changes, as raw JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_payload: Option<Box<RawValue>>,
    /// How many findings there were.
    #[serde(default)]
    pub validation_summary: ValidationSummary,
    /// How long it took (`totalDurationMs` on the wire).
    #[serde(rename = "totalDurationMs", with = "millis::as_millis", default)]
    pub total_duration: Duration,
    /// Where and why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_at: Option<AbortedAt>,
}

impl ChainResult {
    /// An empty result.
    #[must_use]
    pub fn new(status: ChainStatus, event: impl Into<String>, phase: Phase) -> Self {
        Self {
            status,
            event: event.into(),
            phase,
            results: Vec::new(),
            final_payload: None,
            validation_summary: ValidationSummary::default(),
            total_duration: Duration::ZERO,
            aborted_at: None,
        }
    }

    /// Whether the message may pass.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == ChainStatus::Success
    }
}

impl PartialEq for ChainResult {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        let plain = |r: &Self| (r.status, r.phase, r.validation_summary, r.total_duration);
        plain(self) == plain(other)
            && self.event == other.event
            && self.results == other.results
            && text(self.final_payload.as_deref()) == text(other.final_payload.as_deref())
            && self.aborted_at == other.aborted_at
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::interceptor::members::raw;
    use crate::interceptor::{MutationResult, ValidationMessage};

    #[test]
    fn cs_083_ts_067_status_strings() {
        for (status, json) in [
            (ChainStatus::Success, r#""success""#),
            (ChainStatus::ValidationFailed, r#""validation_failed""#),
            (ChainStatus::MutationFailed, r#""mutation_failed""#),
            (ChainStatus::Timeout, r#""timeout""#),
        ] {
            assert_eq!(serde_json::to_string(&status).unwrap(), json);
            assert_eq!(json, format!("\"{status}\""));
            assert_eq!(serde_json::from_str::<ChainStatus>(json).unwrap(), status);
        }
    }

    #[test]
    fn cs_100_a_chain_result_round_trips() {
        let mut result = ChainResult::new(ChainStatus::Success, "tools/call", Phase::Request);
        let verdict = ValidationResult::pass().warn("old");
        result.validation_summary.add(&verdict);
        result.results = vec![
            WireResult::new("m", Phase::Request, MutationResult::modified(json!({"a": 1}))),
            WireResult::new("v", Phase::Request, verdict),
        ];
        result.final_payload = Some(raw(json!({"a": 1})));
        result.total_duration = Duration::from_millis(150);
        let json = r#"{"status":"success","event":"tools/call","phase":"request","results":[{"type":"mutation","interceptor":"m","phase":"request","modified":true,"payload":{"a":1}},{"type":"validation","interceptor":"v","phase":"request","valid":true,"messages":[{"message":"old","severity":"warn"}]}],"finalPayload":{"a":1},"validationSummary":{"errors":0,"warnings":1,"infos":0},"totalDurationMs":150}"#;
        assert_eq!(serde_json::to_string(&result).unwrap(), json);
        assert_eq!(serde_json::from_str::<ChainResult>(json).unwrap(), result);
        assert!(result.is_success());
    }

    #[test]
    fn cs_101_an_aborted_chain_result_round_trips() {
        let mut result = ChainResult::new(ChainStatus::Timeout, "e", Phase::Response);
        result.aborted_at = Some(AbortedAt::new(AbortKind::Timeout, "slow", "too slow"));
        let json = r#"{"status":"timeout","event":"e","phase":"response","results":[],"validationSummary":{"errors":0,"warnings":0,"infos":0},"totalDurationMs":0,"abortedAt":{"interceptor":"slow","reason":"too slow","type":"timeout"}}"#;
        assert_eq!(serde_json::to_string(&result).unwrap(), json);
        assert_eq!(serde_json::from_str::<ChainResult>(json).unwrap(), result);
        let kind = json
            .replace(r#""type":"timeout""#, r#""kind":"timeout""#)
            .replace(":0,", ":0.0,");
        assert_eq!(
            serde_json::from_str::<ChainResult>(
                &kind.replace(r#""errors":0.0,"warnings":0.0"#, r#""errors":0,"warnings":0"#)
            )
            .unwrap(),
            result
        );
    }

    #[test]
    fn cs_055_the_summary_counts_findings() {
        let mut summary = ValidationSummary::default();
        summary.add(&ValidationResult::fail("a").warn("b").inform("c"));
        summary.add(&ValidationResult::pass().warn("d"));
        summary.add(&ValidationResult::from(false));
        summary.add(&ValidationResult::pass());
        summary.add(&ValidationResult::pass().with_message(ValidationMessage::new(Severity::Error, "e")));
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(json, r#"{"errors":3,"warnings":2,"infos":1}"#);
    }

    #[test]
    fn a_final_payload_keeps_its_text() {
        let json = r#"{"status":"success","event":"e","phase":"request","finalPayload":{"n":1.10}}"#;
        let result: ChainResult = serde_json::from_str(json).unwrap();
        assert_eq!(result.final_payload.unwrap().get(), r#"{"n":1.10}"#);
    }
}
