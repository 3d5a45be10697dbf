//! What an error means to a client.

use std::{error::Error, sync::Arc};

use http::StatusCode;
use serde_json::json;

use crate::{
    BoxError,
    message::{ErrorObject, Exchange, Id, Message},
    proxy::{BackendError, BackendErrorKind},
    reply::{Head, Reply},
};

/// An error of the stack, as a client is told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    status: StatusCode,
    kind: &'static str,
    text: String,
}

impl Cause {
    pub(crate) fn of(error: &BoxError) -> Self {
        let new = |status, kind, text: &str| Self {
            status,
            kind,
            text: text.to_owned(),
        };
        let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
        while let Some(error) = cause {
            if let Some(backend) = error.downcast_ref::<BackendError>() {
                return match backend.kind() {
                    BackendErrorKind::Timeout => new(
                        StatusCode::GATEWAY_TIMEOUT,
                        "backend_timeout",
                        &backend.to_string(),
                    ),
                    BackendErrorKind::Unavailable | BackendErrorKind::Garbage => new(
                        StatusCode::BAD_GATEWAY,
                        "backend_unavailable",
                        &backend.to_string(),
                    ),
                };
            }
            if error.is::<tower::timeout::error::Elapsed>() {
                return new(
                    StatusCode::GATEWAY_TIMEOUT,
                    "backend_timeout",
                    "the request took too long",
                );
            }
            if error.is::<tower::load_shed::error::Overloaded>() {
                return new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "overloaded",
                    "the service is overloaded",
                );
            }
            cause = error.source();
        }
        new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error")
    }

    /// A reply that is no JSON-RPC, for a front that cannot relay it.
    pub(crate) fn not_json_rpc(head: Option<&Head>) -> Self {
        let status = head.map_or(StatusCode::BAD_GATEWAY, |head| head.status);
        Self {
            status,
            kind: "backend_unavailable",
            text: format!("the server answered with HTTP status {status} and no JSON-RPC"),
        }
    }

    /// A stream that ended before the answer came.
    pub(crate) fn no_answer() -> Self {
        Self {
            status: StatusCode::BAD_GATEWAY,
            kind: "backend_unavailable",
            text: "the server ended the stream without an answer".into(),
        }
    }

    /// The answer that says so.
    pub(crate) fn message(&self, id: Option<&Id>, exchange: &Arc<Exchange>) -> Message {
        let error = ErrorObject::new(-32603, &*self.text).with_data(&json!({"kind": self.kind}));
        Message::error(id, &error)
            .with_exchange(Arc::clone(exchange))
            .made_by_stack()
    }

    /// The reply that says so.
    pub(crate) fn reply(&self, id: Option<&Id>, exchange: &Arc<Exchange>) -> Reply {
        Reply::one(self.message(id, exchange)).with_head(Head::new(self.status))
    }
}
