//! Limits that hold to the end of a reply, and that make nobody wait who must not.
//!
//! Stock tower layers fit in this stack, but they count what an HTTP service of old did: a request, and a response
//! that is there at once. Here that is wrong in two ways.
//!
//! * A reply may be a stream. `timeout` and `concurrency_limit` let go at its head, so whether a slow tool is
//!   limited depends on whether its server happens to send a progress notification first.
//! * Not every message is a request. A call may wait for an answer of the client, which comes the same way: a limit
//!   that makes the answer wait for the permit that the call holds is a deadlock, and one that sheds a cancel or an
//!   answer leaves the server hanging.
//!
//! | here | in place of | |
//! |---|---|---|
//! | [`DeadlineLayer`] | `timeout` | a total and an idle limit, until the stream ends; waiting for the inner service counts |
//! | [`InFlightLayer`] | `concurrency_limit`, `load_shed` | a permit is held until the stream ends; who gets none is refused, at once or after a bounded wait |
//! | [`requests_only`] | | applies any layer to calls, and lets everything else past it |
//!
//! What they limit are *calls*: requests, except `subscriptions/listen`, whose stream is meant to stay open.
//! Notifications (cancels among them), the client's answers, `Listen` and `End` pass.
//!
//! A deadline of one second, and no more than two calls at a time:
//!
//! ```
//! use std::time::Duration;
//!
//! use futures::{StreamExt, stream};
//! use mcp_interceptors::{
//!     BoxError, ServiceBuilderExt, limit::{DeadlineLayer, InFlightLayer}, message::{Id, Message},
//!     reply::{Events, Reply},
//! };
//! use serde_json::json;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), BoxError> {
//! let service = ServiceBuilder::new()
//!     .rescue()
//!     .layer(DeadlineLayer::new().total(Duration::from_secs(1)))
//!     .layer(InFlightLayer::new(2))
//!     .service_fn(|_: Message| async {
//!         // It reports progress, and never ends.
//!         let progress = Message::notification("notifications/progress", &json!({"progress": 1}))?;
//!         let events = stream::iter([Ok::<_, BoxError>(progress)]).chain(stream::pending());
//!         Ok::<_, BoxError>(Reply::many(Events::new(events)))
//!     });
//! let call = Message::request(&Id::from(1), "tools/call", &json!({"name": "slow"}))?;
//! let answer = service.oneshot(call).await?.into_one(drop).await?.unwrap();
//! assert_eq!(
//!     answer.as_json(),
//!     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the call took too long","data":{"kind":"backend_timeout"}}}"#,
//! );
//! # Ok(())
//! # }
//! ```

mod call;
pub mod deadline;
pub mod in_flight;
pub mod requests;

pub use deadline::{Deadline, DeadlineLayer};
pub use in_flight::{InFlight, InFlightLayer};
pub use requests::{RequestsOnly, RequestsOnlyLayer, requests_only};
