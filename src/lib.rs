//! Interceptors for the [Model Context Protocol](https://modelcontextprotocol.io), as a tower middleware stack.
//!
//! An interceptor sees each message between an MCP client and an MCP server, and may pass it, change it, refuse it
//! or take note of it, after [SEP-2624]. What none of them changes leaves byte for byte as it came.
//!
//! > **An interceptor is a `Service`. A phase is a `Layer`. A backend is a `Service`. A gateway is what you get when
//! > you stack them.**
//!
//! ```text
//!  client ──▶ front ──▶ Rescue ──▶ Correlate ──▶ Interceptor ──▶ McpProxyService ──▶ backend ──▶ server
//! ```
//!
//! Requests, answers, notifications, what a server asks its client, and streams of them: everything takes this way, in
//! both directions.
//!
//! # Example
//!
//! A server in memory, and in front of it a validator that knows one tool it does not like:
//!
//! ```
//! use mcp_interceptors::{
//!     BoxError, ServiceBuilderExt, chain::Chain, duplex, interceptor::Interceptor,
//!     message::{Id, Kind, Message, Payload}, proxy::McpProxyService, reply::Reply,
//! };
//! use serde_json::json;
//! use tower::{ServiceBuilder, service_fn};
//!
//! /// In a program: an `http::HttpBackend` or a `stdio::ChildBackend`.
//! async fn server(message: Message) -> Result<Reply, BoxError> {
//!     Ok(match message.kind() {
//!         Kind::Request => Reply::one(message.answer(Ok(&json!({"content": []})))?),
//!         _ => Reply::accepted(),
//!     })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let no_shell = Interceptor::validator("no-shell").on("tools/call").request().handler(
//!     async |call: Payload| {
//!         let tool = call.get("/name")?;
//!         Ok::<_, BoxError>(tool.and_then(|tool| tool.string()).is_some_and(|tool| tool != "shell"))
//!     },
//! );
//! let chain = Chain::builder().interceptor(no_shell).build()?;
//! let stack = ServiceBuilder::new()
//!     .rescue()
//!     .correlate()
//!     .intercept_client_side(&chain)
//!     .service(McpProxyService::new(service_fn(server)));
//!
//! // In a program: `http::StreamableHttp` or `stdio::serve`.
//! let mut client = duplex::connect(stack);
//! let mut call = async |tool: &str| {
//!     let call = Message::request(&Id::from(1), "tools/call", &json!({"name": tool}))?;
//!     Ok::<_, BoxError>(client.call(call).await.as_json().to_owned())
//! };
//! assert_eq!(call("echo").await?, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
//! // The model reads why: a blocked call of a tool is a result that says so.
//! assert!(call("shell").await?.contains("blocked by no-shell"));
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | What travels | |
//! |---|---|
//! | [`message`] | a JSON-RPC message on its way, its payload, its id, and the exchange around it |
//! | [`reply`] | what comes back: nothing, one message, or a stream of events |
//!
//! | What decides | |
//! |---|---|
//! | [`interceptor`] | validators, mutators and sinks: the types of SEP-2624, and how to write one |
//! | [`chain`] | which of them run on a message, in which order, with what time, and the report of it |
//! | [`builtin`] | ready-made ones: a secret redactor, a tool policy, an audit log |
//!
//! | Layers | |
//! |---|---|
//! | [`rescue`] | failures of the stack become JSON-RPC errors |
//! | [`correlate`] | which request an answer belongs to |
//! | [`intercept`] | runs a chain |
//! | [`mutation`], [`validation`], [`sink`] | the same, one phase each, to stack by hand ([`phase`] is their engine) |
//! | [`limit`] | deadlines and limits that know streams and server requests |
//! | [`middleware`] | a layer from a function |
//!
//! | Ends of a stack | |
//! |---|---|
//! | `http` | Streamable HTTP: a front, a backend, and a guard for a server of the same program |
//! | `stdio` | a front on stdin and stdout, and servers as child processes |
//! | [`duplex`] | both in memory |
//! | [`proxy`] | the service that hands messages to a backend |
//! | [`server`] | hosts interceptors, for others to invoke |
//!
//! [`ServiceBuilderExt`] has the layers as methods of [`tower::ServiceBuilder`]; [`McpService`] names what all of
//! these are, and [`check`] says early what a service lacks.
//!
//! # Features
//!
//! `http` and `stdio` (both on by default) are the transports; `tls` reaches `https://` backends; `redact` is the
//! secret redactor; `schema` enforces `configSchema`; `cli` is the program. A panic in an interceptor is a failure of
//! that interceptor alone, which needs `panic = "unwind"`.
//!
//! # More
//!
//! The guides [write an interceptor](guides::interceptor) and [write a layer](guides::custom_layer), the programs in
//! `examples/`, and [the design as built](guides::design), with its reasons.
//!
//! [SEP-2624]: https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2624
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod builder;
pub mod builtin;
pub mod chain;
pub mod client;
pub mod correlate;
pub mod duplex;
#[cfg(any(doc, doctest))]
pub mod guides;
#[cfg(feature = "http")]
pub mod http;
pub mod intercept;
pub mod interceptor;
pub mod limit;
mod macros;
pub mod message;
pub mod middleware;
pub mod mutation;
pub mod phase;
pub mod proxy;
pub mod reply;
pub mod rescue;
pub mod server;
mod service;
pub mod sink;
#[cfg(feature = "stdio")]
pub mod stdio;
pub mod validation;

pub use builder::ServiceBuilderExt;
pub use service::{McpService, check};
/// The error of the stack: tower's own.
pub use tower::BoxError;

/// The examples of the README compile.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../README.md")]
struct Readme;
