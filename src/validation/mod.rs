//! Runs the validators of a chain.
//!
//! They run at the same time and on the same payload. All of them end before anything is decided, and the message is
//! blocked when one of them says so with severity `error`, or fails and must not. What was blocked is answered here:
//! a `tools/call` with a tool result that says `isError`, everything else with a JSON-RPC error; the other side never
//! sees it.
//!
//! ```
//! use mcp_interceptors::{chain::Chain, interceptor::Interceptor, message::{Id, Kind, Message, Payload}, reply::Reply, validation::ValidationLayer};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_interceptors::BoxError> {
//! let no_rm = Interceptor::validator("no-rm").on("tools/call").request().handler(|payload: Payload| async move {
//!     Ok::<_, mcp_interceptors::BoxError>(payload.get("/name")?.and_then(|name| name.string()).as_deref() != Some("rm"))
//! });
//! let service = ServiceBuilder::new()
//!     .layer(ValidationLayer::new(Chain::builder().interceptor(no_rm).build()?))
//!     .service_fn(|_: Message| async { Err::<Reply, mcp_interceptors::BoxError>("never called".into()) });
//! let call = Message::request(&Id::from(1), "tools/call", &serde_json::json!({"name": "rm"}))?;
//! let answer = service.oneshot(call).await?.into_one(|_| ()).await?.unwrap();
//! assert_eq!(answer.payload().get("/isError")?.unwrap().bool(), Some(true));
//! # Ok(())
//! # }
//! ```

mod layer;
mod service;

pub use crate::phase::ResponseFuture;
pub use layer::ValidationLayer;
pub use service::Validation;
