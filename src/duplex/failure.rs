//! What a client that speaks no HTTP is told when there is no answer.

use serde_json::json;

use crate::{
    BoxError,
    message::{ErrorObject, Id, Message},
    proxy::{BackendError, BackendErrorKind},
    reply::Head,
};

const INTERNAL_ERROR: i64 = -32603;

/// The error answer for a call that failed. Only a backend's own reason is shown: other errors may quote what
/// must not be told.
pub(super) fn failed(id: &Id, error: &BoxError) -> Message {
    let backend = std::iter::successors(Some(&**error as &(dyn std::error::Error + 'static)), |error| {
        error.source()
    })
    .find_map(|error| error.downcast_ref::<BackendError>());
    let error = match backend {
        Some(backend) => {
            let kind = match backend.kind() {
                BackendErrorKind::Timeout => "backend_timeout",
                BackendErrorKind::Unavailable | BackendErrorKind::Garbage => "backend_unavailable",
            };
            ErrorObject::new(INTERNAL_ERROR, backend.to_string()).with_data(&json!({"kind": kind}))
        }
        None => ErrorObject::new(INTERNAL_ERROR, "the request failed"),
    };
    Message::error(Some(id), &error)
}

/// The error answer for a reply that is no JSON-RPC.
pub(super) fn opaque(id: &Id, head: Option<&Head>) -> Message {
    let text = match head {
        Some(head) => format!(
            "the server answered with HTTP status {} and no JSON-RPC",
            head.status.as_u16()
        ),
        None => "the server's answer is no JSON-RPC".into(),
    };
    unavailable(id, text)
}

/// The error answer for a reply that ended early.
pub(super) fn unanswered(id: &Id) -> Message {
    unavailable(id, "the server ended its reply without an answer".into())
}

/// The error answer for one call too many.
pub(super) fn too_many(id: &Id) -> Message {
    Message::error(
        Some(id),
        &ErrorObject::new(INTERNAL_ERROR, "too many requests are in flight"),
    )
}

fn unavailable(id: &Id, text: String) -> Message {
    let error = ErrorObject::new(INTERNAL_ERROR, text).with_data(&json!({"kind": "backend_unavailable"}));
    Message::error(Some(id), &error)
}
