//! A streamed reply whose clock runs on.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures::Stream;

use super::{clock::Late, watch::Watch};
use crate::{
    BoxError, McpService,
    message::{Kind, Origin},
    reply::{Body, Event, Events, Opaque, Reply},
};

pub(super) fn limit<S: McpService>(reply: Reply, watch: Watch<S>) -> Reply {
    let Reply { body, extensions } = reply;
    let body = match body {
        Body::Many(events) => Body::Many(Events::new(Timed::new(events, watch))),
        Body::Opaque(opaque) if opaque.as_bytes().is_none() => {
            Body::Opaque(Opaque::stream(Timed::new(opaque.into_stream(), watch)))
        }
        whole @ (Body::Accepted | Body::One(_) | Body::Opaque(_)) => whole,
    };
    Reply { body, extensions }
}

struct Timed<T, S> {
    /// None when it is over.
    running: Option<(T, Watch<S>)>,
    answered: bool,
}

// Nothing in it is pinned in place; a service that is not `Unpin` is only kept here.
impl<T: Unpin, S> Unpin for Timed<T, S> {}

/// What a stream carries.
trait Item {
    /// Whether it is more than a sign of life of the connection.
    fn counts(&self) -> bool;
    /// Whether it is what the call waits for.
    fn answers(&self, origin: &Origin) -> bool;
}

impl Item for Event {
    fn counts(&self) -> bool {
        self.message().is_some()
    }

    fn answers(&self, origin: &Origin) -> bool {
        self.message().is_some_and(|message| {
            matches!(message.kind(), Kind::Response | Kind::Error) && origin.is_answered_by(message)
        })
    }
}

impl Item for Bytes {
    fn counts(&self) -> bool {
        true
    }

    fn answers(&self, _: &Origin) -> bool {
        false
    }
}

impl<T, S: McpService> Timed<T, S> {
    fn new(stream: T, mut watch: Watch<S>) -> Self {
        watch.clock.heard();
        Self {
            running: Some((stream, watch)),
            answered: false,
        }
    }

    /// Ends the stream: with an error, unless the answer has been given and it just was not closed.
    fn late<I>(&mut self, late: Late) -> Option<Result<I, BoxError>> {
        let (stream, watch) = self.running.take()?;
        drop(stream);
        if self.answered {
            return None;
        }
        watch.cancel(late);
        Some(Err(late.error().into()))
    }
}

impl<T, I, S> Stream for Timed<T, S>
where
    T: Stream<Item = Result<I, BoxError>> + Unpin,
    I: Item,
    S: McpService,
{
    type Item = Result<I, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some((stream, watch)) = &mut this.running else {
            return Poll::Ready(None);
        };
        match Pin::new(stream).poll_next(cx) {
            Poll::Ready(Some(Ok(item))) => {
                let answers = item.answers(&watch.origin);
                // An answer that is there is given, however late its reader comes.
                if !answers && watch.clock.is_over() {
                    return Poll::Ready(this.late(Late::Total));
                }
                this.answered |= answers;
                if item.counts() {
                    watch.clock.heard();
                }
                Poll::Ready(Some(Ok(item)))
            }
            Poll::Ready(end) => {
                this.running = None;
                Poll::Ready(end)
            }
            Poll::Pending => {
                let late = ready!(watch.clock.poll_late(cx));
                Poll::Ready(this.late(late))
            }
        }
    }
}
