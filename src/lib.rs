//! A tower middleware stack for MCP JSON-RPC: interceptors after SEP-2624.
#![forbid(unsafe_code)]

pub mod duplex;
pub mod message;
pub mod proxy;
pub mod reply;
mod service;
#[cfg(feature = "stdio")]
pub mod stdio;

pub use service::{McpService, check};
/// The error of the stack: tower's own.
pub use tower::BoxError;
