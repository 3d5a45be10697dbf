//! One item of a streamed reply.

use bytes::Bytes;

use super::Sse;
use crate::message::Message;

/// A message of a streamed reply with the SSE event it came in; or an SSE event without one: a priming event,
/// a comment, a `retry`.
#[derive(Debug, Clone)]
pub struct Event {
    message: Option<Message>,
    sse: Option<Sse>,
}

impl Event {
    /// A message as it came in an SSE event.
    #[must_use]
    pub fn with_sse(message: Message, sse: Sse) -> Self {
        Self {
            message: Some(message),
            sse: Some(sse),
        }
    }

    /// An SSE event that carries no message and must survive.
    #[must_use]
    pub fn bare(sse: Sse) -> Self {
        Self {
            message: None,
            sse: Some(sse),
        }
    }

    /// The message, where it carries one.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// The message, to do with it what a layer does; the rest of the event stays.
    #[must_use]
    pub fn take_message(&mut self) -> Option<Message> {
        self.message.take()
    }

    /// Puts a message in.
    pub fn set_message(&mut self, message: Message) {
        self.message = Some(message);
    }

    /// The message alone.
    #[must_use]
    pub fn into_message(self) -> Option<Message> {
        self.message
    }

    /// The SSE event it came in.
    #[must_use]
    pub fn sse(&self) -> Option<&Sse> {
        self.sse.as_ref()
    }

    /// What is left when the message must not be delivered: `None`, or on a resumable stream the event with
    /// its `id:` and empty data, so that the client's cursor stays valid.
    #[must_use]
    pub fn suppressed(self) -> Option<Self> {
        let sse = self.sse?;
        sse.id().is_some().then(|| Self::bare(sse.emptied()))
    }

    /// The event in SSE framing: byte for byte as it came where its message is the one that came with it.
    #[must_use]
    pub fn to_sse(&self) -> Bytes {
        match (&self.sse, &self.message) {
            (Some(sse), Some(message)) => sse.framed_with(message.bytes()),
            (Some(sse), None) => sse.as_bytes().clone(),
            (None, Some(message)) => Sse::framed(message.bytes()),
            (None, None) => Bytes::new(),
        }
    }
}

impl From<Message> for Event {
    fn from(message: Message) -> Self {
        Self {
            message: Some(message),
            sse: None,
        }
    }
}
