//! The body of a response.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, stream::BoxStream};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::answer::Question;
use crate::{
    BoxError,
    reply::{Body, Event, Events},
    rescue::Cause,
};

const KEEP_ALIVE: Bytes = Bytes::from_static(b": keepalive\n\n");

/// The body of the responses of a [`StreamableHttp`](super::StreamableHttp).
///
/// Dropped before a legacy call's last event, it hands the rest to a task that reads it to the end.
pub struct ResponseBody(Content);

enum Content {
    Whole(Bytes),
    Stream(BoxStream<'static, Result<Bytes, BoxError>>),
    Events(Box<EventContent>),
}

impl ResponseBody {
    pub(super) fn empty() -> Self {
        Self::whole(Bytes::new())
    }

    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Content::Whole(bytes))
    }

    pub(super) fn stream(stream: BoxStream<'static, Result<Bytes, BoxError>>) -> Self {
        Self(Content::Stream(stream))
    }

    pub(super) fn events(events: Events, question: Question, extensions: http::Extensions) -> Self {
        Self(Content::Events(Box::new(EventContent {
            events: Some(events),
            silence: question.keep_alive.map(Silence::new),
            question,
            extensions,
        })))
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let data = match &mut self.0 {
            Content::Whole(bytes) if bytes.is_empty() => None,
            Content::Whole(bytes) => Some(Ok(std::mem::take(bytes))),
            Content::Stream(stream) => ready!(stream.as_mut().poll_next(cx)),
            Content::Events(events) => ready!(events.poll(cx)).map(Ok),
        };
        Poll::Ready(data.map(|data| data.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Stream(_) => false,
            Content::Events(content) => content.events.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Stream(_) | Content::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseBody")
    }
}

struct EventContent {
    /// `None` at the end.
    events: Option<Events>,
    silence: Option<Silence>,
    question: Question,
    /// They may hold what a layer releases when the reply is over.
    extensions: http::Extensions,
}

impl EventContent {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        while let Some(events) = &mut self.events {
            let text = match Pin::new(events).poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => event.to_sse(),
                Poll::Ready(Some(Err(error))) => {
                    self.events = None;
                    self.failure(&error).unwrap_or_default()
                }
                Poll::Ready(None) => {
                    self.events = None;
                    break;
                }
                Poll::Pending => {
                    let silence = self.silence.as_mut().map(|silence| silence.poll(cx));
                    ready!(silence.unwrap_or(Poll::Pending));
                    KEEP_ALIVE
                }
            };
            if !text.is_empty() {
                if let Some(silence) = &mut self.silence {
                    silence.broken();
                }
                return Poll::Ready(Some(text));
            }
        }
        Poll::Ready(None)
    }

    /// The status has long been sent, so whoever waits for the answer is told in an event.
    fn failure(&self, error: &BoxError) -> Option<Bytes> {
        let Some(id) = self.question.id.as_ref() else {
            tracing::debug!(error = ?error.to_string(), "a stream broke off");
            return None;
        };
        match Cause::of(error).reply(Some(id), &Arc::default()).body {
            Body::One(message) => Some(Event::from(message).to_sse()),
            Body::Accepted | Body::Many(_) | Body::Opaque(_) => None,
        }
    }
}

impl Drop for EventContent {
    fn drop(&mut self) {
        if !self.question.runs_on {
            return;
        }
        self.question.exchange.leave();
        if let (Some(events), Ok(runtime)) = (self.events.take(), tokio::runtime::Handle::try_current()) {
            let extensions = std::mem::take(&mut self.extensions);
            runtime.spawn(async move {
                drain(events).await;
                drop(extensions);
            });
        }
    }
}

/// Reads what nobody waits for any more.
pub(super) async fn drain(mut events: Events) {
    while let Some(Ok(_)) = events.next().await {}
}

/// How long nothing has been sent.
pub(super) struct Silence {
    limit: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Silence {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            sleep: Box::pin(tokio::time::sleep(limit)),
        }
    }

    /// Ready when it has lasted too long.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }

    fn broken(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.limit);
    }
}
