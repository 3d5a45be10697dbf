//! The events of a `text/event-stream` body.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures::Stream;
use http_body::Body as _;

use super::{Limits, send::Incoming};
use crate::{
    BoxError,
    http::frame::Framer,
    message::{Exchange, Message},
    proxy::BackendError,
    reply::{Event, Sse},
};

/// A body, event by event. It ends after the first error.
pub(super) struct EventBody {
    body: Incoming,
    /// `None` when all has been said.
    framer: Option<Framer>,
    exchange: Arc<Exchange>,
    limits: Limits,
}

impl EventBody {
    pub(super) fn new(body: Incoming, exchange: Arc<Exchange>, limits: Limits) -> Self {
        Self {
            body,
            framer: Some(Framer::new(limits.event)),
            exchange,
            limits,
        }
    }

    /// An event that has data is a message. Passed on unread it would be a hole in every policy, so what
    /// cannot be read ends the stream.
    fn event(&self, text: Bytes) -> Result<Event, BackendError> {
        let sse = Sse::parse(text);
        let Some(data) = sse.data().filter(|data| !data.is_empty()) else {
            return Ok(Event::bare(sse));
        };
        if sse.field("event").is_some_and(|name| name == "endpoint") {
            return Err(BackendError::garbage(
                "the backend speaks HTTP+SSE (2024-11-05); only Streamable HTTP is supported",
            ));
        }
        // A slice keeps the address of the event's text, by which an unedited message is known.
        match Message::parse_within(data.clone(), self.limits.event) {
            Ok(message) => Ok(Event::with_sse(
                message.with_exchange(Arc::clone(&self.exchange)),
                sse,
            )),
            Err(error) => Err(BackendError::garbage(format!(
                "an event of the backend is no message: {error}"
            ))),
        }
    }
}

impl Stream for EventBody {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let result = loop {
            let Some(framer) = &mut this.framer else {
                return Poll::Ready(None);
            };
            match framer.next_event() {
                Ok(Some(text)) => break this.event(text),
                Ok(None) => {}
                Err(error) => break Err(BackendError::garbage(error.to_string())),
            }
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        framer.push(data);
                    }
                }
                Some(Err(error)) => {
                    break Err(
                        BackendError::unavailable("the backend broke off its stream").with_source(error)
                    );
                }
                None => match this.framer.take().and_then(Framer::finish) {
                    Some(text) => break this.event(text),
                    None => return Poll::Ready(None),
                },
            }
        };
        if result.is_err() {
            this.framer = None;
        }
        Poll::Ready(Some(result.map_err(Into::into)))
    }
}
