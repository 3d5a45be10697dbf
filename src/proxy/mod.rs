//! The end of a stack: the service that hands a message to the backend.

mod error;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only fronts need it"))]
mod rescue_error;
mod service;

pub use error::{BackendError, BackendErrorKind};
#[cfg_attr(not(feature = "http"), allow(unused_imports, reason = "only fronts need it"))]
pub(crate) use rescue_error::error_reply;
pub use service::{McpProxyService, ResponseFuture};
