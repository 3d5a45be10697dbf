//! Runs the mutators of a chain.
//!
//! Each mutator gets what the one before made of the payload, by priority, then name. The message goes on with the
//! last payload, every other byte as it came; when a mutator that must not fail fails, the message is blocked and
//! nothing of what the others made is kept.
//!
//! Mutators see requests and notifications on their way in, answers on their way out, and the requests and
//! notifications of the server: every message, whichever way it goes.
//!
//! ```
//! use mcp_interceptors::{chain::Chain, interceptor::Interceptor, message::{Id, Message, Payload}, mutation::MutationLayer, reply::Reply};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_interceptors::BoxError> {
//! let shout = Interceptor::mutator("shout").on("tools/call").request().handler(|mut payload: Payload| async move {
//!     payload.set("/arguments/text", "HI")?;
//!     Ok::<_, mcp_interceptors::BoxError>(Some(payload))
//! });
//! let service = ServiceBuilder::new()
//!     .layer(MutationLayer::new(Chain::builder().interceptor(shout).build()?))
//!     .service_fn(|message: Message| async move {
//!         assert_eq!(message.payload().get("/arguments/text")?.unwrap().raw(), r#""HI""#);
//!         Ok::<_, mcp_interceptors::BoxError>(Reply::one(message.answer(Ok(&serde_json::json!({})))?))
//!     });
//! let call = serde_json::json!({"name": "echo", "arguments": {"text": "hi"}});
//! service.oneshot(Message::request(&Id::from(1), "tools/call", &call)?).await?;
//! # Ok(())
//! # }
//! ```

mod layer;
mod service;

pub use crate::phase::ResponseFuture;
pub use layer::MutationLayer;
pub use service::Mutation;
