//! Work that waits until a message is past validation.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

type Work = Box<dyn FnOnce() + Send>;

/// What a sink has seen on the way out, not handed over yet.
///
/// A sink sits inside validation. On the way out its event waits here, in the message, until validation
/// further out has passed it or the message has left the stack, whichever is first; a block cancels it.
#[derive(Default)]
pub(crate) struct Deferred(Mutex<Vec<Work>>);

impl Deferred {
    pub(crate) fn push(&self, work: impl FnOnce() + Send + 'static) {
        self.lock().push(Box::new(work));
    }

    pub(crate) fn release(&self) {
        // Taken out first: the work must not run under the lock.
        let work = std::mem::take(&mut *self.lock());
        work.into_iter().for_each(|work| work());
    }

    pub(crate) fn cancel(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Work>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deferred")
    }
}
