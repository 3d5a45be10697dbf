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
    /// Queues a delivery of `size` bytes. `false` when there is no room, or no runtime to run it on.
    pub(crate) fn push(&self, off_path: &Arc<OffPath>, size: usize, job: Job) -> bool {
        let Some(held) = off_path.hold(size) else {
            return false;
        };
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

    /// Room for `size` bytes. A single event larger than the whole limit finds room in an empty queue.
    fn hold(self: &Arc<Self>, size: usize) -> Option<Held> {
        let before = self.bytes.fetch_add(size, Ordering::AcqRel);
        if before > 0 && before + size > self.limit {
            self.bytes.fetch_sub(size, Ordering::AcqRel);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.running.fetch_add(1, Ordering::AcqRel);
        Some(Held {
            off_path: Arc::clone(self),
            size,
        })
    }

    /// Runs a task of its own, in any order. `false` as for [`SinkQueue::push`].
    pub(crate) fn spawn(
        self: &Arc<Self>,
        size: usize,
        job: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let Some(held) = self.hold(size) else { return false };
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

/// The room that a queued event takes.
struct Held {
    off_path: Arc<OffPath>,
    size: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.off_path.bytes.fetch_sub(self.size, Ordering::AcqRel);
        if self.off_path.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.off_path.idle.notify_waiters();
        }
    }
}
