//! The end of a stack: the service that hands a message to the backend.

mod error;

pub use error::{BackendError, BackendErrorKind};
