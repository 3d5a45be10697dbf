//! Changed payloads.

use serde_json::Value;
use serde_json::value::RawValue;

use super::members::{raw, text};
use crate::message::{Payload, PayloadError};

/// The answer of a mutator (SEP-2624, `MutationResult`).
///
/// ```
/// use mcp_interceptors::interceptor::MutationResult;
/// use serde_json::json;
///
/// let changed = MutationResult::modified(json!({"name": "echo"}));
/// assert_eq!(changed.payload.unwrap().as_json(), r#"{"name":"echo"}"#);
/// assert!(!MutationResult::unmodified().modified);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MutationResult {
    /// Whether the payload was changed.
    pub modified: bool,
    /// The new payload; must be there when `modified`, and means nothing otherwise.
    pub payload: Option<Payload>,
    /// Anything else: an object.
    pub info: Option<Box<RawValue>>,
    /// Whether the payload was edited in place, so that each of its bytes is meant. What came from a value or
    /// over a wire was written anew, and only its values are.
    exact: bool,
}

impl MutationResult {
    fn new(payload: Option<Payload>, exact: bool) -> Self {
        Self {
            modified: payload.is_some(),
            payload,
            info: None,
            exact,
        }
    }

    /// The payload stays as it is.
    #[must_use]
    pub fn unmodified() -> Self {
        Self::new(None, false)
    }

    /// The payload becomes this one, edited through its own methods: byte for byte.
    #[must_use]
    pub fn edited(payload: Payload) -> Self {
        Self::new(Some(payload), true)
    }

    /// The payload becomes this value. It is laid over the original: what is equal as a value keeps its bytes.
    #[must_use]
    pub fn modified(payload: impl Into<Value>) -> Self {
        Self::modified_raw(raw(payload))
    }

    /// The payload becomes what this text says. It is laid over the original, as in
    /// [`modified`](Self::modified).
    #[must_use]
    pub fn modified_raw(payload: Box<RawValue>) -> Self {
        Self::new(Some(Payload::from_raw(payload)), false)
    }

    /// What becomes of a payload.
    pub(crate) fn apply_to(&self, original: &Payload) -> Result<Payload, PayloadError> {
        match &self.payload {
            Some(payload) if self.modified && self.exact => Ok(payload.clone()),
            Some(payload) if self.modified => original.overlaid_with(payload),
            None if self.modified => Err(PayloadError::Decode("modified, but there is no payload".into())),
            _ => Ok(original.clone()),
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
            self.payload = Some(Payload::from_raw(original.to_owned()));
        }
        self
    }
}

impl PartialEq for MutationResult {
    /// Payloads and raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        self.modified == other.modified
            && self.payload == other.payload
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
            (echo.modified, echo.payload.as_ref().map(Payload::as_json)),
            (false, Some(r#"{"a":1}"#))
        );
        let changed = MutationResult::modified("new").with_info("why");
        assert_eq!(changed.clone().echoing(&original), changed);
    }
}
