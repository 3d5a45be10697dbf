//! The two limits.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::proxy::BackendError;

pub(super) struct Clock {
    total: Option<Instant>,
    idle: Option<Duration>,
    /// Runs while the reply is waited for; begins anew with each message.
    idle_until: Option<Instant>,
    /// Made at the first wait.
    sleep: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
pub(super) enum Late {
    Total,
    Idle,
}

impl Late {
    pub(super) fn error(self) -> BackendError {
        BackendError::timeout(self.reason())
    }

    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Total => "the call took too long",
            Self::Idle => "the call was silent for too long",
        }
    }
}

impl Clock {
    pub(super) fn new(total: Option<Duration>, idle: Option<Duration>) -> Self {
        Self {
            // What lies beyond all time is no limit.
            total: total.and_then(|total| Instant::now().checked_add(total)),
            idle,
            idle_until: None,
            sleep: None,
        }
    }

    /// A message has come.
    pub(super) fn heard(&mut self) {
        self.idle_until = None;
    }

    /// Whether the time for the whole call is over.
    pub(super) fn is_over(&self) -> bool {
        self.total.is_some_and(|total| Instant::now() >= total)
    }

    /// Waits for the nearer limit, while nothing comes.
    pub(super) fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Late> {
        if self.idle_until.is_none() {
            self.idle_until = self.idle.and_then(|idle| Instant::now().checked_add(idle));
        }
        let (until, late) = match (self.total, self.idle_until) {
            (None, None) => return Poll::Pending,
            (Some(total), None) => (total, Late::Total),
            (None, Some(idle)) => (idle, Late::Idle),
            (Some(total), Some(idle)) if total <= idle => (total, Late::Total),
            (Some(_), Some(idle)) => (idle, Late::Idle),
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(late)
    }
}
