//! What is limited.

use crate::message::{Kind, Message};

/// Whether a message is a call: a request whose reply is meant to end.
pub(super) fn is_call(message: &Message) -> bool {
    message.kind() == Kind::Request && message.method_bytes() != b"subscriptions/listen"
}
