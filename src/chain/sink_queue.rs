//! The queue of a sink, and all else that runs off the path.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use futures::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc},
};

type Job = BoxFuture<'static, ()>;

/// The queue of one sink: its events are delivered one after the other, in order.
///
/// It is bounded by the bytes that wait in it, not by their number. Its worker starts with the first event,
/// since there may be no runtime before.
#[derive(Default)]
pub(crate) struct SinkQueue {
    sender: Mutex<Option<mpsc::UnboundedSender<(Job, Held)>>>,
}

impl SinkQueue {
    /// Queues a delivery in the room that was found for it. `false` when there is no runtime to run it on.
    pub(crate) fn push(&self, room: Room, job: Job) -> bool {
        let off_path = Arc::clone(&room.off_path);
        let held = room.take();
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let mut item = (job, held);
        if let Some(sender) = &*sender {
            match sender.send(item) {
                Ok(()) => return true,
                // The runtime of the worker is gone; another one may be here.
                Err(returned) => item = returned.0,
            }
        }
        let Ok(runtime) = Handle::try_current() else {
            off_path.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        let (new, mut receiver) = mpsc::unbounded_channel::<(Job, Held)>();
        runtime.spawn(async move {
            while let Some((job, held)) = receiver.recv().await {
                job.await;
                drop(held);
            }
        });
        let queued = new.send(item).is_ok();
        *sender = Some(new);
        queued
    }
}

impl fmt::Debug for SinkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SinkQueue")
    }
}

/// What a chain has running off the path: how many bytes it holds, how much was dropped, when it is done.
#[derive(Debug)]
pub(crate) struct OffPath {
    limit: usize,
    bytes: AtomicUsize,
    running: AtomicUsize,
    dropped: AtomicU64,
    idle: Notify,
}

impl OffPath {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            idle: Notify::new(),
        }
    }

    /// How many events found no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Room for `size` bytes; `None` when there is none, or no runtime to use it on. A single event larger
    /// than the whole limit finds room in an empty queue.
    pub(crate) fn room(self: &Arc<Self>, size: usize) -> Option<Room> {
        if Handle::try_current().is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let before = self.bytes.fetch_add(size, Ordering::AcqRel);
        if before > 0 && before + size > self.limit {
            self.bytes.fetch_sub(size, Ordering::AcqRel);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(Room {
            off_path: Arc::clone(self),
            size,
        })
    }

    /// Runs a task of its own, in any order. `false` as for [`SinkQueue::push`].
    pub(crate) fn spawn(&self, room: Room, job: impl Future<Output = ()> + Send + 'static) -> bool {
        let held = room.take();
        let Ok(runtime) = Handle::try_current() else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        runtime.spawn(async move {
            job.await;
            drop(held);
        });
        true
    }

    /// Completes when nothing runs.
    pub(crate) async fn flushed(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.running.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// Room for an event that has not been handed over yet. A flush does not wait for it.
pub(crate) struct Room {
    off_path: Arc<OffPath>,
    size: usize,
}

impl Room {
    fn take(self) -> Held {
        self.off_path.running.fetch_add(1, Ordering::AcqRel);
        Held(self)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.off_path.bytes.fetch_sub(self.size, Ordering::AcqRel);
    }
}

/// The room of an event that waits in a queue or is being delivered.
struct Held(Room);

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.off_path.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.off_path.idle.notify_waiters();
        }
    }
}
