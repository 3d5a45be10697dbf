//! What it means that an interceptor failed.

use std::{fmt, time::Duration};

/// Why an interceptor gave no verdict. Its text is for the operator, never for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// It returned an error.
    Error(String),
    /// It panicked.
    Panic(String),
    /// It took longer than it may.
    Timeout(Duration),
    /// The budget of the whole phase was used up.
    PhaseTimeout,
    /// It answered with what its type does not answer, or with a payload that cannot be used.
    Malformed(String),
    /// The payload cannot be shown to it.
    Unreadable(String),
    /// The queue was full, or there was no runtime to run it on.
    Dropped,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => write!(f, "failed: {error}"),
            Self::Panic(message) => write!(f, "panicked: {message}"),
            Self::Timeout(limit) => write!(f, "timed out after {}ms", limit.as_millis()),
            Self::PhaseTimeout => f.write_str("the phase's budget was used up"),
            Self::Malformed(what) => write!(f, "malformed answer: {what}"),
            Self::Unreadable(why) => write!(f, "unreadable payload: {why}"),
            Self::Dropped => f.write_str("dropped: its queue is full"),
        }
    }
}

impl std::error::Error for Failure {}
