//! Streamable HTTP, both sides of it.
//!
//! [`StreamableHttp`] serves a stack over HTTP, as a `tower::Service<http::Request<B>>` that mounts in axum and
//! hyper; [`serve`] runs it on a listener without either. [`HttpBackend`] is the other end: a server behind a
//! URL as an MCP service. Put one into the other and there is a proxy:
//!
//! ```no_run
//! use mcp_interceptors::http::{HttpBackend, StreamableHttp, serve};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let backend = HttpBackend::new("http://127.0.0.1:3001/mcp")?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! serve(listener, StreamableHttp::new(backend), std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`guard`] puts a stack in front of a server that lives in the same program.
//!
//! Nothing is added, removed or reordered on the way through but what HTTP asks a proxy to: JSON bodies, the
//! text of events, statuses and end-to-end headers come out as they went in.

mod backend;
mod frame;
mod front;
mod guard;
mod headers;
mod serve;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use backend::{EndpointError, HttpBackend, HttpBackendBuilder, HttpClient, HyperClient, InProcess};
pub use frame::{DEFAULT_MAX_EVENT_BYTES, EventTooLong, Framer};
pub use front::{ResponseBody, ResponseFuture, StreamableHttp};
pub use guard::{Guarded, guard};
pub use serve::{Server, serve};
