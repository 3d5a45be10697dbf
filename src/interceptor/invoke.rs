//! What an interceptor is asked.

use std::time::Duration;

use serde::de::{self, Error as _};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::{raw, text};
use super::{InvocationContext, Members, Phase, millis};

/// The params of `interceptor/invoke` (SEP-2624, `InterceptorInvocationParams`).
///
/// The payload is the bare `params` of a request or the bare `result` of a response, as all implementations
/// send it, though the SEP's example wraps it into `{method, params}`.
///
/// ```
/// use std::time::Duration;
/// use mcp_interceptors::interceptor::{InvokeParams, Phase};
/// use serde_json::json;
///
/// let params = InvokeParams::new("redactor", "tools/call", Phase::Request, json!({"name": "echo"}))
///     .with_timeout(Duration::from_secs(5));
/// assert_eq!(
///     serde_json::to_string(&params)?,
///     r#"{"name":"redactor","event":"tools/call","phase":"request","payload":{"name":"echo"},"timeoutMs":5000}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InvokeParams {
    /// The interceptor.
    pub name: String,
    /// The event.
    pub event: String,
    /// The phase.
    pub phase: Phase,
    /// The payload as raw JSON text. `null` is a payload, absence is not.
    pub payload: Box<RawValue>,
    /// The configuration: an object.
    pub config: Option<Box<RawValue>>,
    /// How long it may take. Written in whole milliseconds, rounded up, at least one.
    pub timeout: Option<Duration>,
    /// Who asks, and when.
    pub context: Option<InvocationContext>,
    /// Members this crate does not know, for example `_meta`.
    pub extra: Members,
}

impl InvokeParams {
    /// The question, with a payload made here.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        event: impl Into<String>,
        phase: Phase,
        payload: impl Into<Value>,
    ) -> Self {
        Self::new_raw(name, event, phase, raw(payload))
    }

    /// The question, with a payload as it came.
    #[must_use]
    pub fn new_raw(
        name: impl Into<String>,
        event: impl Into<String>,
        phase: Phase,
        payload: Box<RawValue>,
    ) -> Self {
        Self {
            name: name.into(),
            event: event.into(),
            phase,
            payload,
            config: None,
            timeout: None,
            context: None,
            extra: Members::new(),
        }
    }

    /// Sets the configuration as it came.
    #[must_use]
    pub fn with_config_raw(mut self, config: Box<RawValue>) -> Self {
        self.config = Some(config);
        self
    }

    /// Sets the configuration.
    #[must_use]
    pub fn with_config(self, config: impl Into<Value>) -> Self {
        self.with_config_raw(raw(config))
    }

    /// Sets how long it may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn with_context(mut self, context: InvocationContext) -> Self {
        self.context = Some(context);
        self
    }
}

impl PartialEq for InvokeParams {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.event, self.phase) == (&other.name, &other.event, other.phase)
            && self.payload.get() == other.payload.get()
            && text(self.config.as_deref()) == text(other.config.as_deref())
            && self.timeout == other.timeout
            && self.context == other.context
            && self.extra == other.extra
    }
}

impl Serialize for InvokeParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.name.is_empty() || self.event.is_empty() {
            return Err(S::Error::custom("`name` and `event` must not be empty"));
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("event", &self.event)?;
        map.serialize_entry("phase", &self.phase)?;
        map.serialize_entry("payload", &self.payload)?;
        if let Some(config) = &self.config {
            map.serialize_entry("config", config)?;
        }
        if let Some(timeout) = self.timeout {
            map.serialize_entry("timeoutMs", &millis::limit(timeout))?;
        }
        if let Some(context) = &self.context {
            map.serialize_entry("context", context)?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for InvokeParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let m = &mut members;
        let name: String = m.need("name")?;
        let event: String = m.need("event")?;
        if name.is_empty() || event.is_empty() {
            return Err(D::Error::custom("`name` and `event` must not be empty"));
        }
        Ok(Self {
            name,
            event,
            phase: m.need("phase")?,
            payload: m
                .remove("payload")
                .ok_or_else(|| D::Error::missing_field("payload"))?,
            config: take_config(m)?,
            timeout: take_timeout(m)?,
            context: m.take_as("context")?,
            extra: members,
        })
    }
}

/// Takes `config`, which must be an object.
pub(super) fn take_config<E: de::Error>(m: &mut Members) -> Result<Option<Box<RawValue>>, E> {
    match m.take("config") {
        Some(config) if !config.get().starts_with('{') => Err(E::custom("`config` must be an object")),
        config => Ok(config),
    }
}

/// Takes `timeoutMs`: any number above 0, since some peers write floats.
pub(super) fn take_timeout<E: de::Error>(m: &mut Members) -> Result<Option<Duration>, E> {
    let Some(raw) = m.take("timeoutMs") else {
        return Ok(None);
    };
    let timeout = millis::read(&raw).filter(|timeout| !timeout.is_zero());
    timeout
        .map(Some)
        .ok_or_else(|| E::custom("`timeoutMs` must be a number above 0"))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;
    use crate::interceptor::Principal;

    fn with_timeout(millis: &str) -> Result<InvokeParams, serde_json::Error> {
        serde_json::from_str(&format!(
            r#"{{"name":"a","event":"tools/call","phase":"request","payload":{{}},"timeoutMs":{millis}}}"#
        ))
    }

    #[test]
    fn cs_098_invoke_params_round_trip() {
        let params = InvokeParams::new("a", "tools/call", Phase::Request, json!({"name": "echo"}))
            .with_config(json!({"strict": true}))
            .with_timeout(Duration::from_secs(5))
            .with_context(
                InvocationContext::at(UNIX_EPOCH)
                    .with_principal(Principal::user("user-123"))
                    .with_trace("t", "p")
                    .with_session_id("s"),
            );
        let json = r#"{"name":"a","event":"tools/call","phase":"request","payload":{"name":"echo"},"config":{"strict":true},"timeoutMs":5000,"context":{"principal":{"type":"user","id":"user-123"},"traceId":"t","spanId":"p","timestamp":"1970-01-01T00:00:00.000Z","sessionId":"s"}}"#;
        assert_eq!(serde_json::to_string(&params).unwrap(), json);
        assert_eq!(serde_json::from_str::<InvokeParams>(json).unwrap(), params);
    }

    #[test]
    fn ts_133_defaults_are_omitted_and_nulls_are_absent() {
        let json = r#"{"name":"a","event":"e","phase":"response","payload":null}"#;
        let bare = InvokeParams::new("a", "e", Phase::Response, Value::Null);
        assert_eq!(serde_json::to_string(&bare).unwrap(), json);
        let nulls = json.replace('}', r#","config":null,"timeoutMs":null,"context":null}"#);
        assert_eq!(serde_json::from_str::<InvokeParams>(&nulls).unwrap(), bare);
    }

    #[test]
    fn ts_134_payload_config_and_unknown_members_keep_their_text() {
        let json = r#"{"name":"a","event":"e","phase":"request","payload":{"b":[1.10,1e2],"a":"\u00e9"},"config":{"z":1.0},"_meta":{"n":12345678901234567890}}"#;
        let params: InvokeParams = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&params).unwrap(), json);
    }

    #[test]
    fn ts_135_name_event_phase_and_payload_are_required() {
        let whole = [
            r#""name":"a""#,
            r#""event":"e""#,
            r#""phase":"request""#,
            r#""payload":{}"#,
        ];
        for missing in 0..whole.len() {
            let mut part = whole.to_vec();
            part.remove(missing);
            let json = format!("{{{}}}", part.join(","));
            let error = serde_json::from_str::<InvokeParams>(&json).unwrap_err();
            assert!(error.to_string().contains("missing field"), "{json}: {error}");
        }
        for json in [
            r#"{"name":"","event":"e","phase":"request","payload":{}}"#,
            r#"{"name":"a","event":"","phase":"request","payload":{}}"#,
            r#"{"name":"a","event":"e","phase":"both","payload":{}}"#,
            r#"{"name":"a","event":"e","phase":"request","payload":{},"config":[]}"#,
            r#"{"name":"a","name":"b","event":"e","phase":"request","payload":{}}"#,
        ] {
            assert!(serde_json::from_str::<InvokeParams>(json).is_err(), "{json}");
        }
        assert!(serde_json::to_string(&InvokeParams::new("", "e", Phase::Request, json!({}))).is_err());
    }

    #[test]
    fn py_043_a_float_timeout_is_read_and_written_as_an_integer() {
        for (read, written) in [("5000.0", "5000"), ("50.5", "51"), ("0.2", "1"), ("1e3", "1000")] {
            let json = serde_json::to_string(&with_timeout(read).unwrap()).unwrap();
            assert!(json.ends_with(&format!(r#""timeoutMs":{written}}}"#)), "{json}");
        }
    }

    #[test]
    fn ts_059_a_timeout_that_is_none_is_an_error() {
        for bad in [
            "0",
            "-1",
            "-0.5",
            "0.0",
            "1e300",
            "1e400",
            r#""5000""#,
            "true",
            "[]",
        ] {
            assert!(with_timeout(bad).is_err(), "{bad}");
        }
    }
}
