//! One JSON-RPC message on its way, lossless.
//!
//! A [`Message`] is the bytes that arrived. One pass validates them and finds where `id`, `method` and the
//! payload stand; nothing is decoded before somebody asks, and nothing is serialised again before somebody
//! edits. An edit replaces the range it names. What nobody touched leaves byte for byte as it came: numbers,
//! key order, escapes, blanks, unknown members.
//!
//! ```
//! use mcp_interceptors::message::{Kind, Message};
//!
//! let bytes = r#"{"jsonrpc":"2.0", "id":1.0, "method":"tools/call", "params":{"name":"pay","x":1.10}}"#;
//! let message = Message::parse(bytes).unwrap();
//! assert_eq!(message.kind(), Kind::Request);
//! assert_eq!(message.method(), Some("tools/call"));
//! assert_eq!(message.name(), Some("pay"));
//!
//! let mut payload = message.payload().clone();
//! payload.set("/name", &"refund").unwrap();
//! let edited = message.with_payload(&payload).unwrap();
//! assert_eq!(
//!     edited.as_json(),
//!     r#"{"jsonrpc":"2.0", "id":1.0, "method":"tools/call", "params":{"name":"refund","x":1.10}}"#,
//! );
//! ```
//!
//! # Limits
//!
//! A message nests at most [`MAX_DEPTH`] levels and is at most as long as its transport allows
//! ([`DEFAULT_MAX_BYTES`] unless set otherwise); an interceptor can read 127 levels. Keys that stand twice in
//! the envelope, in `params` or in its `_meta` are refused; anywhere else they are refused to interceptors.

mod asked;
mod build;
mod deferred;
mod edit;
mod envelope;
mod error;
mod exchange;
mod id;
mod keys;
mod origin;
mod overlay;
mod payload;
mod raw;
mod scan;
mod strict;
mod text;
mod view;

pub(crate) use asked::AnswerNames;
pub use asked::Asked;
pub use build::ErrorObject;
pub(crate) use deferred::Deferred;
pub use error::{ParseError, PayloadError};
pub use exchange::{Cancellation, Connection, Era, Exchange, HttpContext, Principal, PrincipalKind, Slots};
pub use id::Id;
pub(crate) use origin::Origin;
pub use payload::Payload;
pub use raw::{DEFAULT_MAX_BYTES, Kind, Message};
pub use scan::MAX_DEPTH;
#[cfg(feature = "stdio")]
pub(crate) use scan::{ScanError, Scanner};
pub(crate) use text::event_hash;
pub use view::{JsonKind, View};
