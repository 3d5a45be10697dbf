//! Calling interceptors that live on servers.
//!
//! An [`InterceptorServer`] is a connection to one server, over HTTP, to a child process, or through any service in
//! memory. It finds out by itself which era of the protocol the server speaks, and connects anew when the
//! transport has died. [`list`](InterceptorServer::list) and [`invoke`](InterceptorServer::invoke) are the two
//! methods of SEP-2624 as they are.
//!
//! A [`RemoteInterceptor`] makes one interceptor of a server a service, so that a chain holds local and remote
//! ones alike and each can have tower layers of its own. A [`Discovery`] does that for all interceptors of many
//! servers: it lists them once, before anything is served, and keeps the chain up to date behind the calls.
//!
//! ```
//! # tokio_test::block_on(async {
//! use mcp_interceptors::{BoxError, client::InterceptorServer, interceptor::{InvokeParams, Phase}};
//! use mcp_interceptors::{message::Message, reply::Reply};
//! use serde_json::json;
//!
//! // A server in memory. It speaks the legacy era only.
//! async fn server(message: Message) -> Result<Reply, BoxError> {
//!     let result = match message.method() {
//!         Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
//!         Some("interceptor/invoke") => json!({"type": "validation", "valid": true}),
//!         Some("server/discover") => return Err("what is that?".into()),
//!         _ => return Ok(Reply::accepted()),
//!     };
//!     Ok(Reply::one(message.answer(Ok(&result))?))
//! }
//!
//! let server = InterceptorServer::new("guards", tower::service_fn(server));
//! let asked = InvokeParams::new("guard", "tools/call", Phase::Request, json!({"name": "echo"}));
//! let answer = server.invoke(asked).await.unwrap();
//! assert!(!answer.outcome().unwrap().blocks());
//! # });
//! ```

mod calls;
mod connect;
mod discover;
mod error;
mod merge;
mod negotiate;
mod open;
mod refresh;
mod remote;
mod require;
mod server;
mod session;
#[cfg(test)]
mod tests;

pub use discover::{Discovery, DiscoveryBuilder, DiscoveryError, discover};
pub use error::{ServerError, ServerErrorKind};
pub use merge::DuplicateNames;
pub use open::ServerOptions;
pub use remote::RemoteInterceptor;
pub use require::Required;
pub use server::InterceptorServer;
