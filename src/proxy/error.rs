//! Why a backend did not answer.

use std::fmt;

use crate::BoxError;

/// A backend could not be reached, died, was too slow or answered garbage.
///
/// Inside the stack this is an `Err`, so that stock tower layers behave (retry, a circuit breaker). An answer
/// of the backend, of whatever status, is none. `RescueLayer` turns it into a JSON-RPC error.
#[derive(Debug)]
pub struct BackendError {
    kind: BackendErrorKind,
    reason: String,
    source: Option<BoxError>,
}

/// What went wrong with a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// It could not be reached, or is gone.
    Unavailable,
    /// It did not answer in time.
    Timeout,
    /// Its answer cannot be understood.
    Garbage,
}

impl BackendError {
    /// It could not be reached, or is gone. The reason is for the operator's log and the client alike: it must
    /// not hold secrets.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::Unavailable, reason)
    }

    /// It did not answer in time.
    pub fn timeout(reason: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::Timeout, reason)
    }

    /// Its answer cannot be understood.
    pub fn garbage(reason: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::Garbage, reason)
    }

    fn new(kind: BackendErrorKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            source: None,
        }
    }

    /// Adds the error behind it, which only logs show.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> BackendErrorKind {
        self.kind
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for BackendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
