//! What a whole run of interceptors is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::invoke::take_timeout;
use super::members::raw;
use super::{InvocationContext, Members, Phase, millis};

/// What a run of a chain is asked: the parameters of SEP-2624's chain execution.
///
/// No method carries it today. Older gateways sent it as `interceptor/executeChain`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChainParams {
    /// The event.
    pub event: String,
    /// The phase.
    pub phase: Phase,
    /// The payload as raw JSON text.
    pub payload: Box<RawValue>,
    /// Only these interceptors, by name. None at all, and an empty list too, mean every one.
    pub interceptors: Option<Vec<String>>,
    /// Configurations by the interceptor's name.
    pub config: BTreeMap<String, Box<RawValue>>,
    /// How long the whole run may take.
    pub timeout: Option<Duration>,
    /// Who asks, and when.
    pub context: Option<InvocationContext>,
    /// Members this crate does not know.
    pub extra: Members,
}

impl ChainParams {
    /// The question, with a payload made here.
    #[must_use]
    pub fn new(event: impl Into<String>, phase: Phase, payload: impl Into<Value>) -> Self {
        Self::new_raw(event, phase, raw(payload))
    }

    /// The question, with a payload as it came.
    #[must_use]
    pub fn new_raw(event: impl Into<String>, phase: Phase, payload: Box<RawValue>) -> Self {
        Self {
            event: event.into(),
            phase,
            payload,
            interceptors: None,
            config: BTreeMap::new(),
            timeout: None,
            context: None,
            extra: Members::new(),
        }
    }

    /// Runs only these interceptors.
    #[must_use]
    pub fn only<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.interceptors = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the configuration of one interceptor.
    #[must_use]
    pub fn with_config(mut self, interceptor: impl Into<String>, config: impl Into<Value>) -> Self {
        self.config.insert(interceptor.into(), raw(config));
        self
    }

    /// Sets how long the whole run may take.
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

impl PartialEq for ChainParams {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        let texts = |p: &Self| {
            p.config
                .iter()
                .map(|(n, c)| (n.clone(), c.get().to_owned()))
                .collect::<Vec<_>>()
        };
        (&self.event, self.phase, &self.interceptors) == (&other.event, other.phase, &other.interceptors)
            && self.payload.get() == other.payload.get()
            && texts(self) == texts(other)
            && self.timeout == other.timeout
            && self.context == other.context
            && self.extra == other.extra
    }
}

impl Serialize for ChainParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", &self.event)?;
        map.serialize_entry("phase", &self.phase)?;
        map.serialize_entry("payload", &self.payload)?;
        if let Some(interceptors) = &self.interceptors {
            map.serialize_entry("interceptors", interceptors)?;
        }
        if !self.config.is_empty() {
            map.serialize_entry("config", &self.config)?;
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

impl<'de> Deserialize<'de> for ChainParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let m = &mut members;
        let config: Members = m.take_as("config")?.unwrap_or_default();
        Ok(Self {
            event: m.need("event")?,
            phase: m.need("phase")?,
            payload: m
                .remove("payload")
                .ok_or_else(|| D::Error::missing_field("payload"))?,
            interceptors: m.take_as("interceptors")?,
            config: config
                .iter()
                .map(|(name, config)| (name.to_owned(), config.to_owned()))
                .collect(),
            timeout: take_timeout(m)?,
            context: m.take_as("context")?,
            extra: members,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cs_099_chain_params_round_trip() {
        let params = ChainParams::new("tools/call", Phase::Request, json!({"name": "echo"}))
            .only(["a", "b"])
            .with_config("a", json!({"strict": true}))
            .with_timeout(Duration::from_secs(10));
        let json = r#"{"event":"tools/call","phase":"request","payload":{"name":"echo"},"interceptors":["a","b"],"config":{"a":{"strict":true}},"timeoutMs":10000}"#;
        assert_eq!(serde_json::to_string(&params).unwrap(), json);
        assert_eq!(serde_json::from_str::<ChainParams>(json).unwrap(), params);
    }

    #[test]
    fn cs_099_unset_members_are_absent_and_required_ones_are_not_guessed() {
        let json = r#"{"event":"e","phase":"response","payload":null}"#;
        assert_eq!(
            serde_json::to_string(&ChainParams::new("e", Phase::Response, Value::Null)).unwrap(),
            json
        );
        for json in [
            r#"{"event":"e","phase":"response"}"#,
            r#"{"event":"e","payload":1}"#,
            r#"{"phase":"request","payload":1}"#,
            r#"{"event":"e","phase":"request","payload":1,"timeoutMs":0}"#,
            r#"{"event":"e","phase":"request","payload":1,"interceptors":"a"}"#,
        ] {
            assert!(serde_json::from_str::<ChainParams>(json).is_err(), "{json}");
        }
    }
}
