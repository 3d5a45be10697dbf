//! A tower middleware stack for MCP JSON-RPC: interceptors after SEP-2624.
#![forbid(unsafe_code)]

#[cfg(feature = "http")]
pub mod http;
pub mod message;
pub mod proxy;
pub mod reply;
mod service;

pub use service::{McpService, check};
/// The error of the stack: tower's own.
pub use tower::BoxError;
