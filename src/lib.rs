//! A tower middleware stack for MCP JSON-RPC: interceptors after SEP-2624.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod builder;
pub mod builtin;
pub mod chain;
pub mod client;
pub mod correlate;
pub mod duplex;
#[cfg(any(doc, doctest))]
pub mod guides;
#[cfg(feature = "http")]
pub mod http;
pub mod intercept;
pub mod interceptor;
pub mod limit;
mod macros;
pub mod message;
pub mod middleware;
pub mod mutation;
pub mod phase;
pub mod proxy;
pub mod reply;
pub mod rescue;
pub mod server;
mod service;
pub mod sink;
#[cfg(feature = "stdio")]
pub mod stdio;
pub mod validation;

pub use builder::ServiceBuilderExt;
pub use service::{McpService, check};
/// The error of the stack: tower's own.
pub use tower::BoxError;

/// The examples of the README compile.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../README.md")]
struct Readme;
