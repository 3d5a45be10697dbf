//! The reply to a call, and what it means to drop it.

use std::sync::Arc;

use futures::{Stream, future::poll_fn, stream};

use super::{
    Link,
    queue::{Item, Queue},
};
use crate::{
    BoxError,
    message::{Id, Message},
};

/// A call in flight. Dropped before its end, it tells the server to cancel: nobody wants this reply.
#[derive(Debug)]
pub(super) struct CallGuard {
    link: Link,
    minted: Id,
    queue: Arc<Queue>,
}

impl CallGuard {
    pub(super) fn new(link: Link, minted: Id, queue: Arc<Queue>) -> Self {
        Self { link, minted, queue }
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(super) async fn next(&self) -> Item {
        poll_fn(|cx| self.queue.poll(cx)).await
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Message, BoxError>> + Send + 'static {
        stream::unfold(Some(self), |guard| async {
            let guard = guard?;
            match guard.next().await {
                Item::Event(message) => Some((Ok(message), Some(guard))),
                Item::Answer(message) => Some((Ok(message), None)),
                Item::Failed(error) => Some((Err(error), None)),
                Item::End => None,
            }
        })
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        // An answered call is not in the table any more, and nothing is sent for it.
        let given_up = self.link.shared.lock().give_up(&self.minted).is_some();
        if given_up {
            self.link.shared.work.notify_one();
        }
    }
}

/// Someone who listens. What was not read when it is dropped waits for the next one.
#[derive(Debug)]
pub(super) struct ListenGuard {
    link: Link,
    number: u64,
    queue: Arc<Queue>,
}

impl ListenGuard {
    pub(super) fn new(link: Link, number: u64, queue: Arc<Queue>) -> Self {
        Self { link, number, queue }
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Message, BoxError>> + Send + 'static {
        stream::unfold(Some(self), |guard| async {
            let guard = guard?;
            match poll_fn(|cx| guard.queue.poll(cx)).await {
                Item::Event(message) | Item::Answer(message) => Some((Ok(message), Some(guard))),
                Item::Failed(error) => Some((Err(error), None)),
                Item::End => None,
            }
        })
    }
}

impl Drop for ListenGuard {
    fn drop(&mut self) {
        let mut state = self.link.shared.lock();
        state.listeners.retain(|listener| listener.number != self.number);
        for message in self.queue.take_unread() {
            self.link.shared.to_listener(&mut state, message);
        }
        drop(state);
        self.link.shared.work.notify_one();
    }
}
