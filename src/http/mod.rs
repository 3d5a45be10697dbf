//! Streamable HTTP, both sides of it.

mod frame;
mod headers;

pub use frame::{DEFAULT_MAX_EVENT_BYTES, EventTooLong, Framer};
