//! Verdicts.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::{raw, text};

/// How bad a finding is (SEP-2624, `severity`). Ordered: `Info < Warn < Error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing. Never blocks.
    Info,
    /// Worth a warning. Never blocks.
    Warn,
    /// Blocks.
    Error,
}

/// One finding of a validator (SEP-2624, `messages`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ValidationMessage {
    /// Where in the payload. The SEP does not say in which notation; it is for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What was found.
    pub message: String,
    /// How bad it is. A finding that does not say is read as an error.
    #[serde(default = "error")]
    pub severity: Severity,
}

fn error() -> Severity {
    Severity::Error
}

impl ValidationMessage {
    /// A finding without a path.
    #[must_use]
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            path: None,
            message: message.into(),
            severity,
        }
    }

    /// Sets the path.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

/// A value that a validator would rather see (SEP-2624, `suggestions`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Suggestion {
    /// Where in the payload.
    pub path: String,
    /// The value; `null` if none is given.
    #[serde(default = "null")]
    pub value: Box<RawValue>,
}

fn null() -> Box<RawValue> {
    raw(Value::Null)
}

impl Suggestion {
    /// A suggestion.
    #[must_use]
    pub fn new(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            path: path.into(),
            value: raw(value),
        }
    }
}

impl PartialEq for Suggestion {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.value.get() == other.value.get()
    }
}

/// The answer of a validator (SEP-2624, `ValidationResult`).
///
/// ```
/// use mcp_interceptors::interceptor::ValidationResult;
///
/// assert!(!ValidationResult::pass().warn("deprecated tool").blocks());
/// let verdict = ValidationResult::fail("no such host").with_path("$.arguments.url");
/// assert!(verdict.blocks());
/// assert_eq!(verdict.messages[0].path.as_deref(), Some("$.arguments.url"));
/// assert!(ValidationResult::from(false).blocks());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValidationResult {
    /// Whether the payload is fine.
    pub valid: bool,
    /// How bad it is as a whole.
    pub severity: Option<Severity>,
    /// What was found.
    pub messages: Vec<ValidationMessage>,
    /// What would be better.
    pub suggestions: Vec<Suggestion>,
    /// Anything else: an object.
    pub info: Option<Box<RawValue>>,
}

impl ValidationResult {
    fn new(valid: bool, severity: Option<Severity>) -> Self {
        Self {
            valid,
            severity,
            messages: Vec::new(),
            suggestions: Vec::new(),
            info: None,
        }
    }

    /// The payload is fine.
    #[must_use]
    pub fn pass() -> Self {
        Self::new(true, None)
    }

    /// The payload must not pass, for this reason.
    #[must_use]
    pub fn fail(message: impl Into<String>) -> Self {
        Self::new(false, Some(Severity::Error)).with_message(ValidationMessage::new(Severity::Error, message))
    }

    /// Adds a warning, which alone does not block.
    #[must_use]
    pub fn warn(self, message: impl Into<String>) -> Self {
        self.with_message(ValidationMessage::new(Severity::Warn, message))
    }

    /// Adds a remark, which alone does not block.
    #[must_use]
    pub fn inform(self, message: impl Into<String>) -> Self {
        self.with_message(ValidationMessage::new(Severity::Info, message))
    }

    /// Adds a finding.
    #[must_use]
    pub fn with_message(mut self, message: ValidationMessage) -> Self {
        self.messages.push(message);
        self
    }

    /// Says where the last finding is. Without a finding it does nothing.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        if let Some(last) = self.messages.last_mut() {
            last.path = Some(path.into());
        }
        self
    }

    /// Sets the severity of the whole.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn with_suggestion(mut self, path: impl Into<String>, value: impl Into<Value>) -> Self {
        self.suggestions.push(Suggestion::new(path, value));
        self
    }

    /// Sets `info`.
    #[must_use]
    pub fn with_info(mut self, info: impl Into<Value>) -> Self {
        self.info = Some(raw(info));
        self
    }

    /// The severity that counts: the result's own, else the highest among its findings, else `Error`.
    #[must_use]
    pub fn effective_severity(&self) -> Severity {
        let highest = || self.messages.iter().map(|message| message.severity).max();
        self.severity.or_else(highest).unwrap_or(Severity::Error)
    }

    /// Whether the verdict stops the message: it is not valid, and the effective severity is `Error`.
    ///
    /// The SEP lets only severity `error` block and leaves open what a refusal without a severity means. Here it
    /// blocks, because nobody says "not valid" to let something pass. A valid verdict never blocks, whatever
    /// its findings say.
    #[must_use]
    pub fn blocks(&self) -> bool {
        !self.valid && self.effective_severity() == Severity::Error
    }
}

impl From<bool> for ValidationResult {
    /// `true` passes. `false` is a refusal with severity `error`, spelled out because some peers let a refusal
    /// without a severity pass.
    fn from(valid: bool) -> Self {
        Self::new(valid, (!valid).then_some(Severity::Error))
    }
}

impl PartialEq for ValidationResult {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        (self.valid, self.severity) == (other.valid, other.severity)
            && self.messages == other.messages
            && self.suggestions == other.suggestions
            && text(self.info.as_deref()) == text(other.info.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use Severity::{Error, Info, Warn};

    #[test]
    fn cs_082_severity_strings() {
        for (severity, json) in [(Error, r#""error""#), (Warn, r#""warn""#), (Info, r#""info""#)] {
            assert_eq!(serde_json::to_string(&severity).unwrap(), json);
            assert_eq!(serde_json::from_str::<Severity>(json).unwrap(), severity);
        }
        assert!(serde_json::from_str::<Severity>(r#""warning""#).is_err());
        assert!(Info < Warn && Warn < Error);
    }

    /// Every combination of validity, severity of the whole and severities of the findings.
    #[test]
    fn py_006_py_007_py_008_blocks_iff_invalid_and_effectively_an_error() {
        let cases: &[(Option<Severity>, &[Severity], bool)] = &[
            (None, &[], true),
            (None, &[Error], true),
            (None, &[Info, Error, Warn], true),
            (None, &[Warn], false),
            (None, &[Info], false),
            (Some(Error), &[], true),
            (Some(Error), &[Info], true),
            (Some(Warn), &[], false),
            (Some(Warn), &[Error], false),
            (Some(Info), &[Error], false),
        ];
        for (severity, findings, blocks) in cases {
            for valid in [true, false] {
                let mut result = ValidationResult::new(valid, *severity);
                for finding in *findings {
                    result = result.with_message(ValidationMessage::new(*finding, "m"));
                }
                assert_eq!(result.blocks(), !valid && *blocks, "{result:?}");
            }
        }
    }

    #[test]
    fn cs_104_cs_105_booleans() {
        assert_eq!(ValidationResult::from(true), ValidationResult::pass());
        let refusal = ValidationResult::from(false);
        assert!(refusal.blocks() && refusal.messages.is_empty());
        assert_eq!(refusal.severity, Some(Error));
    }

    #[test]
    fn builders_add_up() {
        let result = ValidationResult::fail("bad")
            .with_path("$.a")
            .warn("old")
            .inform("fyi")
            .with_suggestion("$.a", "[REDACTED]")
            .with_info(json!({"n": 1}));
        let severities: Vec<_> = result.messages.iter().map(|m| m.severity).collect();
        assert_eq!(severities, [Error, Warn, Info]);
        assert_eq!(result.messages[0].path.as_deref(), Some("$.a"));
        assert_eq!(result.suggestions[0].value.get(), r#""[REDACTED]""#);
        assert_eq!(result.info.unwrap().get(), r#"{"n":1}"#);
        assert_eq!(
            ValidationResult::pass().with_path("$.a"),
            ValidationResult::pass()
        );
    }

    #[test]
    fn a_finding_without_severity_is_an_error_and_without_text_is_refused() {
        let read = |json| serde_json::from_str::<ValidationMessage>(json);
        assert_eq!(
            read(r#"{"message":"m"}"#).unwrap(),
            ValidationMessage::new(Error, "m")
        );
        assert!(read(r#"{"severity":"warn"}"#).is_err());
    }
}
