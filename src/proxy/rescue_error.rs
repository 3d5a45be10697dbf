//! What a failure of the stack is called in JSON-RPC.

use http::StatusCode;

use super::{BackendError, BackendErrorKind};
use crate::{
    BoxError,
    message::{ErrorObject, Id, Message},
    reply::{Head, Reply},
};

/// The reply for a service that failed: a JSON-RPC error and the status that goes with it. Of a failure that
/// nobody here knows it says nothing: its text was not written for the client.
pub(crate) fn error_reply(id: Option<&Id>, error: &BoxError) -> Reply {
    // As a quoted string: what a peer has put into it cannot make up lines of its own.
    tracing::warn!(error = ?with_causes(error.as_ref()), "a call failed");
    let (status, error) = match backend_error(error.as_ref()) {
        Some(error) => {
            let (status, kind) = match error.kind() {
                BackendErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "backend_timeout"),
                BackendErrorKind::Unavailable | BackendErrorKind::Garbage => {
                    (StatusCode::BAD_GATEWAY, "backend_unavailable")
                }
            };
            let data = serde_json::json!({ "kind": kind });
            (
                status,
                ErrorObject::new(-32603, error.to_string()).with_data(&data),
            )
        }
        None => (
            StatusCode::INTERNAL_SERVER_ERROR,
            ErrorObject::new(-32603, "internal error"),
        ),
    };
    Reply::one(Message::error(id, &error).made_by_stack()).with_head(Head::new(status))
}

fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// The backend's failure, also where a layer has wrapped it, as `Buffer` does.
fn backend_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a BackendError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Body;

    #[derive(Debug)]
    struct Wrapped(BackendError);

    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    fn rescued(error: impl Into<BoxError>) -> (u16, String) {
        let reply = error_reply(Some(&Id::from(7)), &error.into());
        let status = reply.head().unwrap().status.as_u16();
        match reply.body {
            Body::One(message) => (status, message.as_json().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn failures_of_the_backend_say_what_they_are() {
        let down = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"down","data":{"kind":"backend_unavailable"}}}"#;
        let slow = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"slow","data":{"kind":"backend_timeout"}}}"#;
        assert_eq!(rescued(BackendError::unavailable("down")), (502, down.into()));
        assert_eq!(rescued(BackendError::garbage("down")), (502, down.into()));
        assert_eq!(rescued(BackendError::timeout("slow")), (504, slow.into()));
        let wrapped = BackendError::timeout("slow");
        assert_eq!(rescued(Wrapped(wrapped)), (504, slow.into()));
    }

    #[test]
    fn other_failures_keep_their_text() {
        let internal = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}"#;
        assert_eq!(rescued("password is hunter2"), (500, internal.into()));
    }
}
