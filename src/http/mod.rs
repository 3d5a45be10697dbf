//! Streamable HTTP, both sides of it.

mod backend;
mod frame;
mod headers;
#[cfg(test)]
mod testing;

pub use backend::{EndpointError, HttpBackend, HttpBackendBuilder, HttpClient, HyperClient};
pub use frame::{DEFAULT_MAX_EVENT_BYTES, EventTooLong, Framer};
