//! A result as it is on the wire.

use std::time::Duration;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use super::{InterceptorType, Members, Mode, Outcome, Phase, Severity, millis};

/// A result with who gave it, in which phase and how long it took: what `interceptor/invoke` answers, and one
/// step of a [`ChainResult`](super::ChainResult).
///
/// It is written flat, with `type` first because some readers insist on it, then `interceptor`, `phase` and
/// `durationMs` (an integer), then the result's own members without their defaults. A refusal without a severity
/// is written with the one it has in effect, because some readers let it pass otherwise.
///
/// Reading takes any order of members, times with fractions, and the nested form
/// (`"validation":{"valid":true}`) of older implementations. `valid`, `modified` and `recorded` must be
/// booleans. A changed payload must be there and must not be `null`; the payload of an answer that changes
/// nothing is dropped. Use [`from_answer`](Self::from_answer) for the answer to an invocation: it fills in what
/// the peer left out and refuses an answer in another's name.
///
/// ```
/// use std::time::Duration;
/// use mcp_interceptors::interceptor::{Outcome, Phase, ValidationResult, WireResult};
///
/// let result = WireResult::new("guard", Phase::Request, ValidationResult::fail("no").with_path("$.a"))
///     .with_duration(Duration::from_millis(42));
/// let json = r#"{"type":"validation","interceptor":"guard","phase":"request","durationMs":42,"valid":false,"severity":"error","messages":[{"path":"$.a","message":"no","severity":"error"}]}"#;
/// assert_eq!(serde_json::to_string(&result)?, json);
/// assert_eq!(serde_json::from_str::<WireResult>(json)?, result);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WireResult {
    /// Who answered.
    pub interceptor: String,
    /// In which phase.
    pub phase: Phase,
    /// How long it took. A peer's time that cannot be understood is dropped.
    pub duration: Option<Duration>,
    /// Whether it took effect. Written (`"mode":"audit"`) only when it did not.
    pub mode: Mode,
    /// What it answered.
    pub outcome: WireOutcome,
    /// Members this crate does not know, for example a `signature`.
    pub extra: Members,
}

/// What a result on the wire says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WireOutcome {
    /// A result of a type this crate knows.
    Known(Outcome),
    /// A result of another type. It counts as a failure of the interceptor.
    Unknown(UnknownOutcome),
}

/// A result of a type this crate does not know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnknownOutcome {
    /// The name of the type.
    pub kind: Box<str>,
}

impl WireResult {
    /// A result.
    #[must_use]
    pub fn new(interceptor: impl Into<String>, phase: Phase, outcome: impl Into<Outcome>) -> Self {
        Self {
            interceptor: interceptor.into(),
            phase,
            duration: None,
            mode: Mode::Active,
            outcome: WireOutcome::Known(outcome.into()),
            extra: Members::new(),
        }
    }

    /// Sets how long it took.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Sets whether it took effect.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What it answered, if this crate knows the type.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.outcome {
            WireOutcome::Known(outcome) => Some(outcome),
            WireOutcome::Unknown(_) => None,
        }
    }

    /// What it answered.
    ///
    /// # Errors
    /// When this crate does not know the type.
    pub fn into_outcome(self) -> Result<Outcome, UnknownOutcome> {
        match self.outcome {
            WireOutcome::Known(outcome) => Ok(outcome),
            WireOutcome::Unknown(unknown) => Err(unknown),
        }
    }

    fn kind(&self) -> InterceptorType {
        match &self.outcome {
            WireOutcome::Known(outcome) => outcome.kind(),
            WireOutcome::Unknown(unknown) => InterceptorType::Unknown(unknown.kind.clone()),
        }
    }
}

impl std::fmt::Display for UnknownOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a result of the unknown type {:?}", self.kind)
    }
}

impl std::error::Error for UnknownOutcome {}

impl Serialize for WireResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.kind())?;
        map.serialize_entry("interceptor", &self.interceptor)?;
        map.serialize_entry("phase", &self.phase)?;
        if let Some(duration) = self.duration {
            map.serialize_entry("durationMs", &millis::nearest(duration))?;
        }
        if !self.mode.is_active() {
            map.serialize_entry("mode", &self.mode)?;
        }
        if let WireOutcome::Known(outcome) = &self.outcome {
            write_outcome(outcome, &mut map)?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

fn write_outcome<M: SerializeMap>(outcome: &Outcome, map: &mut M) -> Result<(), M::Error> {
    let info = match outcome {
        Outcome::Validation(result) => {
            map.serialize_entry("valid", &result.valid)?;
            let implied: Option<Severity> = (!result.valid).then(|| result.effective_severity());
            if let Some(severity) = result.severity.or(implied) {
                map.serialize_entry("severity", &severity)?;
            }
            if !result.messages.is_empty() {
                map.serialize_entry("messages", &result.messages)?;
            }
            if !result.suggestions.is_empty() {
                map.serialize_entry("suggestions", &result.suggestions)?;
            }
            &result.info
        }
        Outcome::Mutation(result) => {
            map.serialize_entry("modified", &result.modified)?;
            match &result.payload {
                Some(payload) => map.serialize_entry("payload", payload)?,
                None if result.modified => return Err(M::Error::custom("a modified payload must be there")),
                None => {}
            }
            &result.info
        }
        Outcome::Sink(result) => {
            map.serialize_entry("recorded", &result.recorded)?;
            if !result.metrics.is_empty() {
                map.serialize_entry("metrics", &result.metrics)?;
            }
            &result.info
        }
    };
    match info {
        Some(info) => map.serialize_entry("info", info),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Number, json};

    use super::*;
    use crate::interceptor::members::raw;
    use crate::interceptor::{MutationResult, SinkResult, ValidationMessage, ValidationResult};

    fn write(result: &WireResult) -> String {
        serde_json::to_string(result).unwrap()
    }

    fn round_trips(result: &WireResult, json: &str) {
        assert_eq!(write(result), json);
        assert_eq!(&serde_json::from_str::<WireResult>(json).unwrap(), result);
    }

    #[test]
    fn cs_094_a_validation_result_round_trips() {
        let verdict = ValidationResult::fail("looks like an address")
            .with_path("$.arguments.email")
            .with_suggestion("$.arguments.email", "[REDACTED]")
            .with_info(json!({"rule": 7}));
        round_trips(
            &WireResult::new("pii", Phase::Request, verdict).with_duration(Duration::from_millis(42)),
            r#"{"type":"validation","interceptor":"pii","phase":"request","durationMs":42,"valid":false,"severity":"error","messages":[{"path":"$.arguments.email","message":"looks like an address","severity":"error"}],"suggestions":[{"path":"$.arguments.email","value":"[REDACTED]"}],"info":{"rule":7}}"#,
        );
    }

    #[test]
    fn cs_095_a_mutation_result_round_trips() {
        let changed = MutationResult::modified(json!({"note": "HI"})).with_info(json!({"redacted": 1}));
        round_trips(
            &WireResult::new("upper", Phase::Response, changed),
            r#"{"type":"mutation","interceptor":"upper","phase":"response","modified":true,"payload":{"note":"HI"},"info":{"redacted":1}}"#,
        );
    }

    #[test]
    fn cs_096_a_sink_result_round_trips() {
        let noted = SinkResult::recorded()
            .with_metric("latencyMs", Number::from_f64(12.5).unwrap())
            .with_metric("payloadBytes", 256);
        round_trips(
            &WireResult::new("log", Phase::Request, noted),
            r#"{"type":"sink","interceptor":"log","phase":"request","recorded":true,"metrics":{"latencyMs":12.5,"payloadBytes":256}}"#,
        );
    }

    #[test]
    fn cf_03_cf_04_py_027_verdicts_are_flat() {
        round_trips(
            &WireResult::new("allow-all", Phase::Request, ValidationResult::pass()),
            r#"{"type":"validation","interceptor":"allow-all","phase":"request","valid":true}"#,
        );
        round_trips(
            &WireResult::new(
                "deny-all",
                Phase::Request,
                ValidationResult::fail("denied by policy"),
            ),
            r#"{"type":"validation","interceptor":"deny-all","phase":"request","valid":false,"severity":"error","messages":[{"message":"denied by policy","severity":"error"}]}"#,
        );
    }

    #[test]
    fn cf_06_an_unmodified_payload_may_be_echoed() {
        let echo = MutationResult::unmodified().echoing(&raw(json!({"a": 1})));
        assert_eq!(
            write(&WireResult::new("m", Phase::Request, echo)),
            r#"{"type":"mutation","interceptor":"m","phase":"request","modified":false,"payload":{"a":1}}"#
        );
        assert_eq!(
            write(&WireResult::new(
                "m",
                Phase::Request,
                MutationResult::unmodified()
            )),
            r#"{"type":"mutation","interceptor":"m","phase":"request","modified":false}"#
        );
    }

    #[test]
    fn ts_139_a_refusal_is_written_with_its_effective_severity() {
        let bare = ValidationResult {
            severity: None,
            ..ValidationResult::from(false)
        };
        assert!(
            write(&WireResult::new("v", Phase::Request, bare.clone()))
                .ends_with(r#""valid":false,"severity":"error"}"#)
        );
        let mild = bare.with_message(ValidationMessage::new(Severity::Warn, "m"));
        assert!(
            write(&WireResult::new("v", Phase::Request, mild)).contains(r#""severity":"warn","messages""#)
        );
    }

    #[test]
    fn the_mark_of_an_audit_and_unknown_members_are_written() {
        let json = r#"{"type":"validation","interceptor":"v","phase":"request","mode":"audit","valid":true,"signature":{"algorithm":"ed25519","value":1.10}}"#;
        let result: WireResult = serde_json::from_str(json).unwrap();
        assert_eq!(result.mode, Mode::Audit);
        assert_eq!(write(&result), json);
    }

    #[test]
    fn a_modified_payload_that_is_missing_is_not_written() {
        let mut broken = MutationResult::unmodified();
        broken.modified = true;
        assert!(serde_json::to_string(&WireResult::new("m", Phase::Request, broken)).is_err());
    }
}
