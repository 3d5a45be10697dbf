//! A reply that holds a place until it ends.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::Stream;
use tokio::sync::OwnedSemaphorePermit;

use crate::reply::{Body, Events, Opaque, Reply};

pub(super) fn hold(reply: Reply, place: OwnedSemaphorePermit) -> Reply {
    let Reply { body, extensions } = reply;
    let body = match body {
        Body::Many(events) => Body::Many(Events::new(Held::new(events, place))),
        Body::Opaque(opaque) if opaque.as_bytes().is_none() => {
            Body::Opaque(Opaque::stream(Held::new(opaque.into_stream(), place)))
        }
        whole @ (Body::Accepted | Body::One(_) | Body::Opaque(_)) => whole,
    };
    Reply { body, extensions }
}

struct Held<T> {
    inner: Option<(T, OwnedSemaphorePermit)>,
}

impl<T> Held<T> {
    fn new(stream: T, place: OwnedSemaphorePermit) -> Self {
        Self {
            inner: Some((stream, place)),
        }
    }
}

impl<T: Stream + Unpin> Stream for Held<T> {
    type Item = T::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T::Item>> {
        let Some((stream, _)) = &mut self.inner else {
            return Poll::Ready(None);
        };
        let item = ready!(Pin::new(stream).poll_next(cx));
        if item.is_none() {
            self.inner = None;
        }
        Poll::Ready(item)
    }
}
