//! Errors to JSON-RPC, once.
//!
//! Inside a stack a failure to reach or run something is an `Err`, so that stock tower layers behave. This
//! layer stands at the top and turns what it gets into an answer that says so:
//!
//! | cause | JSON-RPC | HTTP | `data.kind` |
//! |---|---|---|---|
//! | [`BackendError`](crate::proxy::BackendError), unavailable or garbage | -32603 | 502 | `backend_unavailable` |
//! | [`BackendError`](crate::proxy::BackendError), timeout; tower's `Elapsed` | -32603 | 504 | `backend_timeout` |
//! | tower's `Overloaded` | -32603 | 503 | `overloaded` |
//! | anything else | -32603 | 500 | `internal` |
//!
//! The text of a cause it does not know is logged and not shown. An error in the middle of a stream becomes the
//! stream's last event. For fronts that are not HTTP, an answer that is no JSON-RPC, and a stream that ends
//! without the answer, become errors too: nobody else would tell the client.
//!
//! ```
//! use mcp_interceptors::{message::{Id, Message}, proxy::BackendError, reply::Reply, rescue::RescueLayer};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_interceptors::BoxError> {
//! let service = ServiceBuilder::new()
//!     .layer(RescueLayer::new())
//!     .service_fn(|_: Message| async { Err::<Reply, _>(BackendError::unavailable("the server has exited")) });
//! let reply = service.oneshot(Message::bare_request(&Id::from(1), "tools/list")).await?;
//! assert_eq!(
//!     reply.into_one(|_| ()).await?.unwrap().as_json(),
//!     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server has exited","data":{"kind":"backend_unavailable"}}}"#,
//! );
//! # Ok(())
//! # }
//! ```

mod cause;
mod future;
mod layer;
mod service;
mod stream;
#[cfg(test)]
mod tests;

pub use future::ResponseFuture;
pub use layer::RescueLayer;
pub use service::Rescue;

pub(crate) use cause::Cause;
