//! What comes back for a message: nothing, one answer, a stream, or something that is no JSON-RPC.
//!
//! A [`Reply`] is one concrete type whatever the transport, and [`Events`] an opaque boxed stream, as axum's
//! and tonic's bodies are. A layer that has nothing to do returns the very reply it got.
//!
//! A match on [`Body::One`] alone is a hole in a policy: the same answer can arrive as a stream. The helpers
//! treat both alike:
//!
//! ```
//! use mcp_interceptors::{message::{Id, Message}, reply::Reply};
//!
//! let answer = Message::response(&Id::from(1), &serde_json::json!({"secret": "x"})).unwrap();
//! let reply = Reply::one(answer).map_messages(|message| {
//!     let mut payload = message.payload().clone();
//!     payload.edit_strings(|_| Some("***".into())).ok();
//!     message.with_payload(&payload).expect("a redacted result is still a result")
//! });
//! # let _ = reply;
//! ```

mod event;
mod events;
mod helpers;
mod sse;

use std::fmt;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use http::{HeaderMap, StatusCode};

use crate::{BoxError, message::Message};

pub use event::Event;
pub use events::Events;
pub use sse::Sse;

/// The reply to one message.
///
/// Status and headers of an HTTP backend ride in the extensions as a [`Head`], whatever the body.
#[derive(Debug)]
pub struct Reply {
    /// What came back.
    pub body: Body,
    /// What rides along.
    pub extensions: http::Extensions,
}

/// The body of a [`Reply`].
#[derive(Debug)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a policy must decide about every form there is"
)]
pub enum Body {
    /// A notification or an answer was taken; there is nothing to say.
    Accepted,
    /// One message: the answer.
    One(Message),
    /// A stream: notifications and server requests before the answer, or one that never ends.
    Many(Events),
    /// The backend answered, but not in JSON-RPC: a 401, an HTML page; or a reply that was left unread.
    Opaque(Opaque),
}

impl Reply {
    /// A reply with that body.
    #[must_use]
    pub fn new(body: Body) -> Self {
        Self {
            body,
            extensions: http::Extensions::new(),
        }
    }

    /// The answer.
    #[must_use]
    pub fn one(message: Message) -> Self {
        Self::new(Body::One(message))
    }

    /// Nothing but an acknowledgement.
    #[must_use]
    pub fn accepted() -> Self {
        Self::new(Body::Accepted)
    }

    /// A stream of messages.
    #[must_use]
    pub fn many(events: Events) -> Self {
        Self::new(Body::Many(events))
    }

    /// Bytes that are no JSON-RPC.
    #[must_use]
    pub fn opaque(body: Opaque) -> Self {
        Self::new(Body::Opaque(body))
    }

    /// Adds status and headers.
    #[must_use]
    pub fn with_head(mut self, head: Head) -> Self {
        self.extensions.insert(head);
        self
    }

    /// Status and headers, where the reply came over HTTP or a layer set them.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.extensions.get()
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        Self::one(message)
    }
}

/// Status and headers of a reply.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
}

impl Head {
    /// A head with that status and no headers.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
        }
    }

    /// With these headers.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }
}

/// A body that is no JSON-RPC, as it came.
pub struct Opaque(Content);

enum Content {
    Whole(Bytes),
    Stream(BoxStream<'static, Result<Bytes, BoxError>>),
}

impl Opaque {
    /// A body that arrives piece by piece.
    pub fn stream<T>(stream: T) -> Self
    where
        T: futures::Stream<Item = Result<Bytes, BoxError>> + Send + 'static,
    {
        Self(Content::Stream(stream.boxed()))
    }

    /// The body as a stream, whichever way it came.
    #[must_use]
    pub fn into_stream(self) -> BoxStream<'static, Result<Bytes, BoxError>> {
        match self.0 {
            Content::Whole(bytes) => futures::stream::iter([Ok(bytes)]).boxed(),
            Content::Stream(stream) => stream,
        }
    }

    /// The body where it is there as a whole; `None` when it has yet to arrive.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Content::Whole(bytes) => Some(bytes),
            Content::Stream(_) => None,
        }
    }
}

impl From<Bytes> for Opaque {
    fn from(bytes: Bytes) -> Self {
        Self(Content::Whole(bytes))
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Whole(bytes) => write!(f, "Opaque({} bytes)", bytes.len()),
            Content::Stream(_) => f.write_str("Opaque(stream)"),
        }
    }
}
