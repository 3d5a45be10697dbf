//! Who asked what.
//!
//! An answer carries an id and no method. Layers that judge answers must know the request behind one, and for
//! two kinds of answer only the outermost layer can: a client's answer to a server's request comes as a message
//! of its own, and on a resumed stream (a legacy GET) come answers to calls whose stream broke.
//!
//! This layer stands outside all policy. It remembers the requests that go out to the client, and names the
//! request in each answer that comes in ([`Message::in_reply_to`](crate::message::Message::in_reply_to)). Only
//! the first answer to an id counts, in the session or connection it belongs to: an answer that nobody asked for,
//! a second one, a forged one is swallowed, and no layer and no backend sees it.
//!
//! It also raises the cancellation flag of a call that a client cancels. The notification would overtake a call
//! that an interceptor still holds; the flag does not.
//!
//! ```
//! use mcp_interceptors::{correlate::CorrelateLayer, message::{Id, Message}, reply::Reply};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_interceptors::BoxError> {
//! let service = ServiceBuilder::new().layer(CorrelateLayer::new()).service_fn(|_: Message| async {
//!     Err::<Reply, mcp_interceptors::BoxError>("no forged answer gets here".into())
//! });
//! let forged = Message::response(&Id::from(99), &serde_json::json!({}))?;
//! service.oneshot(forged).await?;
//! # Ok(())
//! # }
//! ```

mod future;
mod layer;
mod service;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub use future::ResponseFuture;
pub use layer::CorrelateLayer;
pub use service::Correlate;
