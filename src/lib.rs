//! A tower middleware stack for MCP JSON-RPC: interceptors after SEP-2624.
#![forbid(unsafe_code)]

pub mod builtin;
mod builder;
pub mod chain;
pub mod correlate;
pub mod intercept;
pub mod interceptor;
#[cfg(feature = "http")]
pub mod http;
pub mod message;
pub mod mutation;
pub mod phase;
pub mod proxy;
pub mod reply;
pub mod rescue;
mod service;
pub mod sink;
pub mod validation;

pub use builder::ServiceBuilderExt;
pub use service::{McpService, check};
/// The error of the stack: tower's own.
pub use tower::BoxError;
