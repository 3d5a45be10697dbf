//! Layers from functions, for those who do not want to write a `Service`.
//!
//! [`from_fn`] takes an async function of a message and of what is left of the stack, its [`Next`]. The function
//! may answer by itself, change the message, or work on the reply. A reply is one message or a stream of them, and
//! what a server sends in one it may send in the other; so work on replies with the helpers that treat both alike
//! ([`map_messages`](crate::reply::Reply::map_messages), [`then_messages`](crate::reply::Reply::then_messages),
//! [`into_one`](crate::reply::Reply::into_one)).
//!
//! # Denying a tool
//!
//! ```
//! use mcp_interceptors::{
//!     BoxError, message::{ErrorObject, Id, Message}, middleware::{Next, from_fn}, reply::Reply,
//! };
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! async fn deny_rm(message: Message, next: Next) -> Result<Reply, BoxError> {
//!     if message.is_request("tools/call") && message.name() == Some("rm") {
//!         let refusal = ErrorObject::new(-32602, "rm is not allowed here");
//!         return Ok(Reply::one(message.answer::<()>(Err(&refusal))?));
//!     }
//!     next.run(message).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let service = ServiceBuilder::new()
//!     .layer(from_fn(deny_rm))
//!     .service_fn(|_: Message| async { Err::<Reply, BoxError>("no call of rm gets here".into()) });
//! let call = Message::request(&Id::from(1), "tools/call", &serde_json::json!({"name": "rm"}))?;
//! let answer = service.oneshot(call).await?.into_one(drop).await?.unwrap();
//! assert_eq!(
//!     answer.as_json(),
//!     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"rm is not allowed here"}}"#,
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # Redacting what comes back
//!
//! The same function serves an answer that comes alone and one that comes in a stream, behind notifications:
//!
//! ```
//! use futures::stream;
//! use mcp_interceptors::{
//!     BoxError, message::{Id, Message, Payload}, middleware::{Next, from_fn}, reply::{Events, Reply},
//! };
//! use serde_json::json;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! async fn redact(message: Message, next: Next) -> Result<Reply, BoxError> {
//!     Ok(next.run(message).await?.map_messages(redacted))
//! }
//!
//! fn redacted(message: Message) -> Message {
//!     let mut payload = message.payload().clone();
//!     let edited = payload.edit_strings(|text| text.contains("hunter2").then(|| text.replace("hunter2", "***")));
//!     if edited.is_err() {
//!         // What cannot be read cannot be redacted, and so nothing of it is passed on.
//!         payload = Payload::from_value(&json!({})).expect("an object serialises");
//!     }
//!     message.with_payload(&payload).expect("a payload of the same form fits")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! async fn backend(message: Message) -> Result<Reply, BoxError> {
//!     let answer = message.answer(Ok(&json!({"text": "it is hunter2"})))?;
//!     if message.is_request("one") {
//!         return Ok(Reply::one(answer));
//!     }
//!     let log = Message::notification("notifications/message", &json!({"data": "hunter2!"}))?;
//!     Ok(Reply::many(Events::new(stream::iter([Ok::<_, BoxError>(log), Ok(answer)]))))
//! }
//!
//! let service = ServiceBuilder::new().layer(from_fn(redact)).service_fn(backend);
//! for method in ["one", "many"] {
//!     let request = Message::bare_request(&Id::from(1), method);
//!     let reply = service.clone().oneshot(request).await?;
//!     let answer = reply
//!         .into_one(|event| {
//!             let log = event.into_message().unwrap();
//!             assert_eq!(log.payload().as_json(), r#"{"data":"***!"}"#);
//!         })
//!         .await?
//!         .unwrap();
//!     assert_eq!(answer.payload().as_json(), r#"{"text":"it is ***"}"#);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Answering the server in the client's place
//!
//! A server may ask the client while it works on a call. [`Next::deliver`] sends it an answer, and what the
//! function leaves out the client does not see:
//!
//! ```
//! use futures::stream;
//! use mcp_interceptors::{
//!     BoxError, message::{ErrorObject, Id, Kind, Message}, middleware::{Next, from_fn}, reply::{Events, Reply},
//! };
//! use serde_json::json;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! async fn no_sampling(message: Message, next: Next) -> Result<Reply, BoxError> {
//!     let server = next.clone();
//!     let reply = next.run(message).await?;
//!     reply
//!         .then_messages(move |message| {
//!             let server = server.clone();
//!             async move {
//!                 if !message.is_request("sampling/createMessage") {
//!                     return Ok(Some(message));
//!                 }
//!                 let refusal = ErrorObject::new(-1, "no sampling here");
//!                 server.deliver(message.answer::<()>(Err(&refusal))?)?;
//!                 Ok(None)
//!             }
//!         })
//!         .await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let (told, mut answers) = tokio::sync::mpsc::unbounded_channel();
//! let service = ServiceBuilder::new().layer(from_fn(no_sampling)).service_fn(move |message: Message| {
//!     let told = told.clone();
//!     async move {
//!         if message.kind() == Kind::Error {
//!             told.send(message.as_json().to_owned())?;
//!             return Ok::<_, BoxError>(Reply::accepted());
//!         }
//!         let question = Message::request(&Id::from(900), "sampling/createMessage", &json!({}))?;
//!         let answer = message.answer(Ok(&json!({})))?;
//!         Ok(Reply::many(Events::new(stream::iter([Ok::<_, BoxError>(question), Ok(answer)]))))
//!     }
//! });
//! let call = Message::request(&Id::from(1), "tools/call", &json!({"name": "ask"}))?;
//! let reply = service.oneshot(call).await?;
//! let answer = reply.into_one(|_| panic!("the client must not see the question")).await?.unwrap();
//! assert_eq!(answer.as_json(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//! assert_eq!(
//!     answers.recv().await.unwrap(),
//!     r#"{"jsonrpc":"2.0","id":900,"error":{"code":-1,"message":"no sampling here"}}"#,
//! );
//! # Ok(())
//! # }
//! ```

mod future;
mod layer;
mod next;
mod service;
#[cfg(test)]
mod tests;

pub use future::ResponseFuture;
pub use layer::{FromFnLayer, from_fn};
pub use next::Next;
pub use service::FromFn;
