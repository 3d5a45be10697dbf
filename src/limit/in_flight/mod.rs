//! A limit on how many calls run at a time, to the end of their replies.

mod future;
mod layer;
mod reply;
mod service;
#[cfg(test)]
mod tests;

pub use future::ResponseFuture;
pub use layer::InFlightLayer;
pub use service::InFlight;
