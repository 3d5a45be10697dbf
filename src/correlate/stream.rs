//! A stream in which server requests are remembered, and one answer is enough.

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
        loop {
            let Some(event) = ready!(Pin::new(&mut this.events).poll_next(cx)) else {
                return Poll::Ready(None);
            };
            let event = event?;
            if event.message().is_none_or(|message| this.watch.see(message)) {
                return Poll::Ready(Some(Ok(event)));
            }
            tracing::warn!("withheld an answer that does not belong on its stream");
            if let Some(rest) = event.suppressed() {
                return Poll::Ready(Some(Ok(rest)));
            }
        }
    }
}
