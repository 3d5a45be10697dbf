//! The end of a stack: the service that hands a message to the backend.

mod error;
mod service;

pub use error::{BackendError, BackendErrorKind};
pub use service::{McpProxyService, ResponseFuture};
