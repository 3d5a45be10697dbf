//! What has arrived for one reply and is not read yet.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::{BoxError, message::Message};

/// What a message costs in memory beside its bytes, about: a flood of tiny ones must not escape the bound.
const OVERHEAD: usize = 512;

/// One item of a reply.
#[derive(Debug)]
pub(super) enum Item {
    Event(Message),
    /// The answer: nothing follows.
    Answer(Message),
    /// The reply broke: nothing follows.
    Failed(BoxError),
    /// Nothing more comes, and that is no fault: cancelled, or closed.
    End,
}

/// A queue bounded in bytes. Whoever fills it never waits: a full queue ends its reply with an error, and the
/// last item always has room.
pub(super) struct Queue {
    limit: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<Item>,
    bytes: usize,
    ended: bool,
    reader: Option<Waker>,
}

/// The reply was full and has been ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl Queue {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            inner: Mutex::default(),
        }
    }

    pub(super) fn push(&self, message: Message) -> Result<(), Overflow> {
        let mut inner = self.lock();
        if inner.ended {
            return Ok(());
        }
        let cost = cost(&message);
        // A single message is let in whatever its length: the link bounds that.
        if inner.bytes > 0 && inner.bytes + cost > self.limit {
            let text = format!(
                "the reply was read too slowly: more than {} bytes were waiting",
                self.limit
            );
            inner.end(Item::Failed(text.into()));
            wake(inner);
            return Err(Overflow);
        }
        inner.bytes += cost;
        inner.items.push_back(Item::Event(message));
        wake(inner);
        Ok(())
    }

    /// Ends the reply. Later items are ignored.
    pub(super) fn end(&self, item: Item) {
        let mut inner = self.lock();
        if !inner.ended {
            inner.end(item);
            wake(inner);
        }
    }

    /// The next item. After the last one there is nothing but [`Item::End`].
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Item> {
        let mut inner = self.lock();
        match inner.items.pop_front() {
            Some(item) => {
                if let Item::Event(message) = &item {
                    inner.bytes -= cost(message);
                }
                Poll::Ready(item)
            }
            None if inner.ended => Poll::Ready(Item::End),
            None => {
                inner.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Completes when something is there; `true` when it is an event, so that more will follow.
    pub(super) fn poll_is_event(&self, cx: &mut Context<'_>) -> Poll<bool> {
        let mut inner = self.lock();
        match inner.items.front() {
            Some(item) => Poll::Ready(matches!(item, Item::Event(_))),
            None if inner.ended => Poll::Ready(false),
            None => {
                inner.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// What nobody has read.
    pub(super) fn take_unread(&self) -> Vec<Message> {
        let mut inner = self.lock();
        inner.bytes = 0;
        inner
            .items
            .drain(..)
            .filter_map(|item| match item {
                Item::Event(message) => Some(message),
                Item::Answer(_) | Item::Failed(_) | Item::End => None,
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn end(&mut self, item: Item) {
        self.items.push_back(item);
        self.ended = true;
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

pub(super) fn cost(message: &Message) -> usize {
    message.bytes().len() + OVERHEAD
}

/// Outside the lock: a waker may run the reader at once.
fn wake(mut inner: MutexGuard<'_, Inner>) {
    let reader = inner.reader.take();
    drop(inner);
    if let Some(reader) = reader {
        reader.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::poll_fn;

    fn message(len: usize) -> Message {
        Message::notification("n", &serde_json::json!({"x": "x".repeat(len)})).unwrap()
    }

    async fn next(queue: &Queue) -> Item {
        poll_fn(|cx| queue.poll(cx)).await
    }

    #[tokio::test]
    async fn overflow_ends_the_reply_with_an_error_after_what_was_there() {
        let queue = Queue::new(2_000);
        assert_eq!(queue.push(message(1)), Ok(()));
        assert_eq!(queue.push(message(1)), Ok(()));
        assert_eq!(queue.push(message(1_000)), Err(Overflow));
        queue.end(Item::Answer(message(1)));
        assert!(matches!(next(&queue).await, Item::Event(_)));
        assert!(matches!(next(&queue).await, Item::Event(_)));
        assert!(matches!(next(&queue).await, Item::Failed(_)));
        assert!(matches!(next(&queue).await, Item::End));
    }

    #[tokio::test]
    async fn the_answer_always_has_room() {
        let queue = Queue::new(10);
        queue.push(message(1)).unwrap();
        queue.end(Item::Answer(message(100_000)));
        assert!(matches!(next(&queue).await, Item::Event(_)));
        assert!(matches!(next(&queue).await, Item::Answer(_)));
    }

    #[tokio::test]
    async fn one_message_fits_whatever_its_length() {
        let queue = Queue::new(10);
        assert_eq!(queue.push(message(1_000)), Ok(()));
    }
}
