//! Hosting interceptors: a router of [`Interceptor`](crate::interceptor::Interceptor)s that speaks SEP-2624.
//!
//! An [`InterceptorServer`] is an MCP service like any other. Serve it with [`stdio::serve`](crate::stdio::serve),
//! with [`StreamableHttp`](crate::http::StreamableHttp), or in memory with [`duplex`](crate::duplex). It answers
//! clients of both eras, each message by itself: the handshake and `ping` up to 2025-11-25, `server/discover` from
//! 2026-07-28, and in both `interceptors/list` and `interceptor/invoke`.
//!
//! ```
//! # tokio_test::block_on(async {
//! use mcp_interceptors::{duplex, interceptor::Interceptor, message::{Id, Message, Payload}, server::InterceptorServer};
//! use serde_json::json;
//!
//! let server = InterceptorServer::builder("policies", "1.0.0")
//!     .interceptor(Interceptor::validator("short").on("tools/call").request().handler(
//!         |payload: Payload| async move { payload.as_json().len() < 100 },
//!     ))
//!     .build()
//!     .unwrap();
//!
//! let mut client = duplex::connect(server);
//! let question = json!({"name": "short", "event": "tools/call", "phase": "request", "payload": {"name": "echo"}});
//! let answer = client.call(Message::request(&Id::from(1), "interceptor/invoke", &question).unwrap()).await;
//! assert!(answer.as_json().contains(r#""type":"validation","interceptor":"short","phase":"request""#));
//! # });
//! ```
//!
//! # What goes wrong, and how it is said
//!
//! | what | code | `data.kind` |
//! |---|---|---|
//! | no interceptor of that name | -32602 | `unknown_interceptor` |
//! | it does not hook that event in that phase | -32602 | `hook_mismatch` |
//! | parameters of another form, a `config` that does not fit | -32602 | `invalid_params` |
//! | it took too long | -32000 | `timeout`, with `interceptor`, `timeoutMs`, `phase` |
//! | it returned an error, panicked, or answered with what its type does not answer | -32603 | `failed` |
//!
//! A failure never shows its inner text; that goes to the log.
//!
//! # The capability's key
//!
//! The capability is advertised under one constant, [`CAPABILITY_KEY`](crate::interceptor::CAPABILITY_KEY). Should the
//! SEP settle on another key, this is the way: the new key becomes the constant, and so what is written; the old one
//! joins the places that
//! [`InterceptorsCapability::from_capabilities`](crate::interceptor::InterceptorsCapability::from_capabilities) reads.
//! Peers that look in the old place alone are served with [`old_dialect`](InterceptorServerBuilder::old_dialect).

mod blocking;
mod builder;
mod eras;
mod errors;
mod host;
mod invoke;
mod list;
mod old;
mod schema;
mod service;
#[cfg(test)]
mod tests;

pub use blocking::{Blocking, blocking};
pub use builder::{InterceptorServerBuilder, ServerBuildError};
pub use service::InterceptorServer;

/// The protocol versions with a handshake that are served, newest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The stateless protocol versions that are served, newest first.
pub const MODERN_VERSIONS: [&str; 1] = ["2026-07-28"];
