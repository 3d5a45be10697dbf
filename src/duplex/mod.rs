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
#[cfg(test)]
mod tests;

pub use client::{Client, connect};
#[cfg(feature = "stdio")]
pub(crate) use dispatch::Dispatcher;

/// Connects a [`Link`](crate::stdio::Link) with a service: the stdio front and the link, over pipes in memory.
/// Everything that a child process would do to a message is done to it, without a process.
///
/// ```
/// # tokio_test::block_on(async {
/// use mcp_interceptors::{BoxError, duplex, message::{Id, Message}, reply::Reply};
/// use tower::ServiceExt;
///
/// let server = tower::service_fn(|message: Message| async move {
///     Ok::<_, BoxError>(match message.id() {
///         Some(_) => Reply::one(message.answer(Ok(&serde_json::json!({})))?),
///         None => Reply::accepted(),
///     })
/// });
/// let reply = duplex::link(server).oneshot(Message::bare_request(&Id::from("x"), "ping")).await.unwrap();
/// let answer = reply.into_one(drop).await.unwrap().unwrap();
/// assert_eq!(answer.as_json(), r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
/// # });
/// ```
///
/// # Panics
///
/// Outside of a Tokio runtime.
#[cfg(feature = "stdio")]
pub fn link<S: crate::McpService>(service: S) -> crate::stdio::Link {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(async move {
        let served = crate::stdio::serve_on(reader, writer, service, std::future::pending()).await;
        if let Err(error) = served {
            tracing::debug!(%error, "an in-memory server has ended");
        }
    });
    let (reader, writer) = tokio::io::split(ours);
    crate::stdio::Link::new(reader, writer)
}
