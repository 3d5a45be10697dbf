//! Changed payloads.

use serde_json::Value;
use serde_json::value::RawValue;

use super::members::{raw, text};

/// The answer of a mutator (SEP-2624, `MutationResult`).
///
/// ```
/// use mcp_interceptors::interceptor::MutationResult;
/// use serde_json::json;
///
/// let changed = MutationResult::modified(json!({"name": "echo"}));
/// assert_eq!(changed.payload.unwrap().get(), r#"{"name":"echo"}"#);
/// assert!(!MutationResult::unmodified().modified);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MutationResult {
    /// Whether the payload was changed.
    pub modified: bool,
    /// The new payload as raw JSON text; must be there when `modified`, and means nothing otherwise.
    pub payload: Option<Box<RawValue>>,
    /// Anything else: an object.
    pub info: Option<Box<RawValue>>,
}

impl MutationResult {
    /// The payload stays as it is.
    #[must_use]
    pub fn unmodified() -> Self {
        Self {
            modified: false,
            payload: None,
            info: None,
        }
    }

    /// The payload becomes this value.
    #[must_use]
    pub fn modified(payload: impl Into<Value>) -> Self {
        Self::modified_raw(raw(payload))
    }

    /// The payload becomes this text.
    #[must_use]
    pub fn modified_raw(payload: Box<RawValue>) -> Self {
        Self {
            modified: true,
            payload: Some(payload),
            info: None,
        }
    }

    /// Sets `info`.
    #[must_use]
    pub fn with_info(mut self, info: impl Into<Value>) -> Self {
        self.info = Some(raw(info));
        self
    }

    /// Puts the original payload into an answer that changes nothing, as the SEP wants it on the wire. An answer
    /// that changes something stays as it is.
    #[must_use]
    pub fn echoing(mut self, original: &RawValue) -> Self {
        if !self.modified {
            self.payload = Some(original.to_owned());
        }
        self
    }
}

impl PartialEq for MutationResult {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        self.modified == other.modified
            && text(self.payload.as_deref()) == text(other.payload.as_deref())
            && text(self.info.as_deref()) == text(other.info.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cf_06_only_an_unmodified_answer_echoes() {
        let original = raw(serde_json::json!({"a": 1}));
        let echo = MutationResult::unmodified().echoing(&original);
        assert_eq!(
            (echo.modified, text(echo.payload.as_deref())),
            (false, Some(r#"{"a":1}"#))
        );
        let changed = MutationResult::modified("new").with_info("why");
        assert_eq!(changed.clone().echoing(&original), changed);
    }
}
