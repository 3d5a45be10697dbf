//! The number of a decision.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// Names one decision of a chain, the same in the reply, the log line, the span and the audit record.
///
/// It is unique, also across processes, and no secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecisionId {
    process: u64,
    count: u64,
}

impl DecisionId {
    pub(crate) fn next() -> Self {
        /// Differs between processes: the standard library seeds its hashers from the system.
        static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
        static COUNT: AtomicU64 = AtomicU64::new(1);
        Self {
            process: *PROCESS,
            count: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.process, self.count)
    }
}

impl fmt::Debug for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecisionId({self})")
    }
}
