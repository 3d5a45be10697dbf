//! The stream of a streamed reply.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures::stream::{BoxStream, Stream, StreamExt, TryStreamExt};

use super::Event;
use crate::BoxError;

/// The events of a streamed reply, in order.
///
/// Dropping it says that nobody wants the rest: a child is told to cancel, an HTTP exchange is closed.
pub struct Events(BoxStream<'static, Result<Event, BoxError>>);

impl Events {
    /// Takes a stream of messages or events.
    ///
    /// ```
    /// use mcp_interceptors::{BoxError, message::{Id, Message}, reply::Events};
    ///
    /// let answer = Message::response(&Id::from(1), &serde_json::json!({})).unwrap();
    /// let events = Events::new(futures::stream::iter([Ok::<_, BoxError>(answer)]));
    /// ```
    pub fn new<S, T, E>(stream: S) -> Self
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        T: Into<Event> + 'static,
        E: Into<BoxError> + 'static,
    {
        Self(stream.map_ok(Into::into).map_err(Into::into).boxed())
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Event, BoxError>> {
        self.0.next().await
    }
}

impl Stream for Events {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}
