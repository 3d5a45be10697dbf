//! What a client is told when it cannot be served.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::{chain::Failure, interceptor::Phase, message::ErrorObject};

/// An error, and the HTTP status it has in the modern era. In the legacy era it is 200.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) error: ErrorObject,
    pub(super) modern_status: StatusCode,
}

impl Refusal {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            error: ErrorObject::new(code, message),
            modern_status: StatusCode::OK,
        }
    }

    fn with(mut self, data: &Value) -> Self {
        self.error = self.error.with_data(data);
        self
    }

    fn with_status(mut self, status: StatusCode) -> Self {
        self.modern_status = status;
        self
    }

    pub(super) fn method_not_found() -> Self {
        Self::new(-32601, "Method not found").with_status(StatusCode::NOT_FOUND)
    }

    pub(super) fn invalid_params(reason: impl Into<String>) -> Self {
        Self::new(-32602, reason).with(&json!({"kind": "invalid_params"}))
    }

    /// A request without what every modern request must have.
    pub(super) fn missing_meta(what: &str) -> Self {
        Self::new(-32602, format!("params._meta lacks {what}")).with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn header_mismatch(reason: &str) -> Self {
        Self::new(-32020, reason).with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn unsupported_version(requested: &str) -> Self {
        Self::new(-32022, "Unsupported protocol version")
            .with(&json!({"supported": super::MODERN_VERSIONS, "requested": requested}))
            .with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn unknown_interceptor(name: &str) -> Self {
        Self::new(-32602, format!("there is no interceptor {}", shown(name)))
            .with(&json!({"kind": "unknown_interceptor"}))
    }

    pub(super) fn hook_mismatch(name: &str, event: &str, phase: Phase) -> Self {
        let text = format!(
            "the interceptor {} does not hook {} in the {phase} phase",
            shown(name),
            shown(event)
        );
        Self::new(-32602, text).with(&json!({"kind": "hook_mismatch"}))
    }

    /// An interceptor failed. `limit` is the time it had.
    pub(super) fn failed(name: &str, phase: Phase, limit: Duration, failure: &Failure) -> Self {
        let reason = match failure {
            Failure::Timeout(_) | Failure::PhaseTimeout => {
                let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                let text = format!("the interceptor {} timed out after {limit}ms", shown(name));
                let data =
                    json!({"kind": "timeout", "interceptor": name, "timeoutMs": limit, "phase": phase});
                return Self::new(-32000, text).with(&data);
            }
            Failure::Panic(_) => "panic",
            Failure::Malformed(_) => "malformed answer",
            Failure::Error(_) | Failure::Unreadable(_) | Failure::Dropped => "error",
        };
        tracing::warn!(interceptor = ?name, %phase, %failure, "an interceptor failed");
        let data = json!({"kind": "failed", "interceptor": name, "phase": phase, "reason": reason});
        Self::new(-32603, format!("the interceptor {} failed", shown(name))).with(&data)
    }

    /// The client has taken its request back; it does not wait for this.
    pub(super) fn cancelled() -> Self {
        Self::new(-32603, "the request was cancelled").with(&json!({"kind": "cancelled"}))
    }
}

/// A name that a peer chose, escaped and not too long.
fn shown(name: &str) -> String {
    match name.char_indices().nth(128) {
        Some((end, _)) => format!("{:?}", format!("{}…", &name[..end])),
        None => format!("{name:?}"),
    }
}
