//! A stream whose error becomes its last event.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::Stream;

use super::{Cause, future::About};
use crate::{
    BoxError,
    message::{Kind, Message},
    reply::{Event, Events},
};

pub(super) struct Rescued {
    events: Option<Events>,
    about: About,
    answered: bool,
}

impl Rescued {
    pub(super) fn new(events: Events, about: About) -> Self {
        Self {
            events: Some(events),
            about,
            answered: false,
        }
    }

    fn last(&mut self, cause: &Cause) -> Option<Result<Event, BoxError>> {
        self.events = None;
        let origin = self.about.origin.as_ref().filter(|_| !self.answered)?;
        Some(Ok(cause
            .message(origin.id().as_ref(), &self.about.exchange)
            .into()))
    }

    fn note(&mut self, message: Option<&Message>) {
        if let (Some(message), Some(origin)) = (message, &self.about.origin) {
            let is_answer = matches!(message.kind(), Kind::Response | Kind::Error);
            self.answered |= is_answer && origin.is_answered_by(message);
        }
    }
}

impl Stream for Rescued {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(events) = &mut this.events else {
            return Poll::Ready(None);
        };
        Poll::Ready(match ready!(Pin::new(events).poll_next(cx)) {
            Some(Ok(event)) => {
                this.note(event.message());
                Some(Ok(event))
            }
            Some(Err(error)) => {
                tracing::warn!(error = ?error.to_string(), "a stream broke");
                this.last(&Cause::of(&error))
            }
            // Over HTTP a legacy stream may end early and be resumed: it ends as the backend ended it.
            None if this.about.is_http() => None,
            None => this.last(&Cause::no_answer()),
        })
    }
}
