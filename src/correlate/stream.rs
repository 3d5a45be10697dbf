//! A stream in which server requests are remembered.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::Stream;

use super::future::Watch;
use crate::{
    BoxError,
    reply::{Event, Events},
};

pub(super) struct Watched {
    pub(super) events: Events,
    pub(super) watch: Watch,
}

impl Stream for Watched {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(event) = ready!(Pin::new(&mut this.events).poll_next(cx)) else {
            return Poll::Ready(None);
        };
        let event = event?;
        if let Some(message) = event.message() {
            this.watch.see(message);
        }
        Poll::Ready(Some(Ok(event)))
    }
}
