//! Runs the sinks of a chain.
//!
//! A sink takes note: off the path, in a queue of its own, in order. It never delays a message, and what it answers
//! changes nothing. A sink that must record can be told to block what its queue has no room for.
//!
//! Put it right inside the validation layer. On the way in it then sees what validation has passed. On the way out it
//! leaves its event with the reply, and the event goes out once validation further out has passed the reply, or the
//! reply has left the stack; a block cancels it. So no sink ever sees what was blocked; audit records of that come from
//! the chain's [`Report`](crate::chain::Report)s.
//!
//! On the side of a client the order of the SEP puts sinks before the mutators of an answer: a sink sees what the
//! server sent, secrets that a redactor further out takes out included. A log that must be clean redacts for itself,
//! or stands in a layer of its own outside the redactor.
//!
//! ```
//! use mcp_interceptors::{chain::Chain, interceptor::{Event, Interceptor}, message::{Id, Message}, reply::Reply, sink::SinkLayer};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_interceptors::BoxError> {
//! let (seen, mut events) = tokio::sync::mpsc::unbounded_channel();
//! let note = Interceptor::sink("note").on("*").request().state(seen).handler(
//!     |event: Event, seen: mcp_interceptors::interceptor::State<tokio::sync::mpsc::UnboundedSender<String>>| async move {
//!         seen.0.send(event.to_string())
//!     },
//! );
//! let service = ServiceBuilder::new()
//!     .layer(SinkLayer::new(Chain::builder().interceptor(note).build()?))
//!     .service_fn(|_: Message| async { Ok::<_, mcp_interceptors::BoxError>(Reply::accepted()) });
//! service.oneshot(Message::bare_request(&Id::from(1), "tools/list")).await?;
//! assert_eq!(events.recv().await.unwrap(), "tools/list");
//! # Ok(())
//! # }
//! ```

mod layer;
mod service;

pub use crate::phase::ResponseFuture;
pub use layer::SinkLayer;
pub use service::Sink;
