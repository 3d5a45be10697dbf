//! Limits on how long a call may take, to the end of its reply.

mod clock;
mod future;
mod layer;
mod service;
mod stream;
#[cfg(test)]
mod tests;
mod watch;

pub use future::ResponseFuture;
pub use layer::DeadlineLayer;
pub use service::Deadline;
