//! In memory: a client's end of an MCP service, for tests and for embedding.
//!
//! [`connect`] gives the end that a client program holds: it sends messages and receives what comes back, in
//! the order in which a pipe would carry it, notifications and server requests included.
//!
//! ```
//! # tokio_test::block_on(async {
//! use mcp_interceptors::{BoxError, duplex, message::{Id, Kind, Message}, reply::Reply};
//! use serde_json::json;
//!
//! async fn server(message: Message) -> Result<Reply, BoxError> {
//!     Ok(match message.kind() {
//!         Kind::Request => Reply::one(message.answer(Ok(&json!({"tools": []})))?),
//!         _ => Reply::accepted(),
//!     })
//! }
//!
//! let mut client = duplex::connect(tower::service_fn(server));
//! let answer = client.call(Message::bare_request(&Id::from(1), "tools/list")).await;
//! assert_eq!(answer.as_json(), r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
//! # });
//! ```

mod client;
mod dispatch;
mod failure;

pub use client::{Client, connect};
#[cfg(feature = "stdio")]
pub(crate) use dispatch::Dispatcher;
