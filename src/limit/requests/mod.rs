//! A layer for calls alone.

mod future;
mod layer;
mod service;
#[cfg(test)]
mod tests;

pub use future::ResponseFuture;
pub use layer::{RequestsOnlyLayer, requests_only};
pub use service::RequestsOnly;
