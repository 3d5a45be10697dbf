//! Who asks, in which session and trace, and when.

use std::time::SystemTime;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::{raw, text};
use super::{Members, rfc3339_utc};

/// What an invocation may know besides its payload (SEP-2624, `context`).
///
/// ```
/// use mcp_interceptors::interceptor::{InvocationContext, Principal};
/// use std::time::UNIX_EPOCH;
///
/// let context = InvocationContext::at(UNIX_EPOCH)
///     .with_principal(Principal::user("user-123"))
///     .with_session_id("s-1");
/// assert_eq!(
///     serde_json::to_string(&context)?,
///     r#"{"principal":{"type":"user","id":"user-123"},"timestamp":"1970-01-01T00:00:00.000Z","sessionId":"s-1"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InvocationContext {
    /// Who.
    pub principal: Option<Principal>,
    /// The trace it belongs to.
    pub trace_id: Option<String>,
    /// The span it belongs to.
    pub span_id: Option<String>,
    /// When, as RFC 3339. The SEP demands it and a context made here has it; peers leave it out.
    pub timestamp: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// Members this crate does not know, for example the reserved `interceptorState`.
    pub extra: Members,
}

impl InvocationContext {
    /// A context of now.
    #[must_use]
    pub fn now() -> Self {
        Self::at(SystemTime::now())
    }

    /// A context of a time.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        Self {
            principal: None,
            trace_id: None,
            span_id: None,
            timestamp: Some(rfc3339_utc(time)),
            session_id: None,
            extra: Members::new(),
        }
    }

    /// Sets who.
    #[must_use]
    pub fn with_principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Sets the trace and the span.
    #[must_use]
    pub fn with_trace(mut self, trace_id: impl Into<String>, span_id: impl Into<String>) -> Self {
        self.trace_id = Some(trace_id.into());
        self.span_id = Some(span_id.into());
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn with_session_id(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }
}

impl Serialize for InvocationContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(principal) = &self.principal {
            map.serialize_entry("principal", principal)?;
        }
        for (name, value) in [
            ("traceId", &self.trace_id),
            ("spanId", &self.span_id),
            ("timestamp", &self.timestamp),
            ("sessionId", &self.session_id),
        ] {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for InvocationContext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let m = &mut members;
        Ok(Self {
            principal: m.take_as("principal")?,
            trace_id: m.take_as("traceId")?,
            span_id: m.take_as("spanId")?,
            timestamp: m.take_as("timestamp")?,
            session_id: m.take_as("sessionId")?,
            extra: members,
        })
    }
}

/// Who a message comes from (SEP-2624, `principal`).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Principal {
    /// What it is (`type` on the wire).
    pub kind: PrincipalType,
    /// Which one.
    pub id: Option<String>,
    /// What is claimed about it: an object, for example of a token's claims.
    pub claims: Option<Box<RawValue>>,
    /// Members this crate does not know.
    pub extra: Members,
}

impl Principal {
    fn new(kind: PrincipalType, id: Option<String>) -> Self {
        Self {
            kind,
            id,
            claims: None,
            extra: Members::new(),
        }
    }

    /// A person.
    #[must_use]
    pub fn user(id: impl Into<String>) -> Self {
        Self::new(PrincipalType::User, Some(id.into()))
    }

    /// A program.
    #[must_use]
    pub fn service(id: impl Into<String>) -> Self {
        Self::new(PrincipalType::Service, Some(id.into()))
    }

    /// Nobody known.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(PrincipalType::Anonymous, None)
    }

    /// Sets the claims.
    #[must_use]
    pub fn with_claims(mut self, claims: impl Into<Value>) -> Self {
        self.claims = Some(raw(claims));
        self
    }
}

impl PartialEq for Principal {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.id == other.id
            && text(self.claims.as_deref()) == text(other.claims.as_deref())
            && self.extra == other.extra
    }
}

impl Serialize for Principal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.kind)?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        if let Some(claims) = &self.claims {
            map.serialize_entry("claims", claims)?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let m = &mut members;
        let kind = m.need("type")?;
        let id = m.take_as("id")?;
        let claims = m.take("claims");
        if claims
            .as_deref()
            .is_some_and(|claims| !claims.get().starts_with('{'))
        {
            return Err(D::Error::custom("`claims` must be an object"));
        }
        Ok(Self {
            kind,
            id,
            claims,
            extra: members,
        })
    }
}

/// What a principal is (SEP-2624, `principal.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PrincipalType {
    /// A person.
    User,
    /// A program.
    Service,
    /// Nobody known.
    Anonymous,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cs_098_the_context_round_trips() {
        let json = r#"{"principal":{"type":"user","id":"user-123","claims":{"level":1.10}},"traceId":"t","spanId":"p","timestamp":"2026-07-28T09:30:00Z","sessionId":"s","interceptorState":{"b":1,"a":2}}"#;
        let context: InvocationContext = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&context).unwrap(), json);
        assert_eq!(context.principal.as_ref().unwrap().kind, PrincipalType::User);
        assert_eq!(context.timestamp.as_deref(), Some("2026-07-28T09:30:00Z"));
    }

    #[test]
    fn what_is_made_here_has_a_timestamp_and_what_is_read_need_not() {
        let made = InvocationContext::now().timestamp.unwrap();
        assert!(made.len() == 24 && made.ends_with('Z'), "{made}");
        let read: InvocationContext = serde_json::from_str("{}").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "{}");
    }

    #[test]
    fn principals() {
        for (principal, json) in [
            (
                Principal::service("ci").with_claims(json!({"a": 1})),
                r#"{"type":"service","id":"ci","claims":{"a":1}}"#,
            ),
            (Principal::anonymous(), r#"{"type":"anonymous"}"#),
        ] {
            assert_eq!(serde_json::to_string(&principal).unwrap(), json);
            assert_eq!(serde_json::from_str::<Principal>(json).unwrap(), principal);
        }
        for json in [
            r#"{"type":"root"}"#,
            r#"{"id":"a"}"#,
            r#"{"type":"user","claims":[]}"#,
        ] {
            assert!(serde_json::from_str::<Principal>(json).is_err(), "{json}");
        }
    }
}
