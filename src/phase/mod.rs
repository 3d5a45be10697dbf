//! The one engine of the phase layers.
//!
//! `MutationLayer`, `ValidationLayer`, `SinkLayer` and `InterceptorLayer` are names for it: the state machine
//! (run, get ready, call, run on each message of the reply) exists once.

mod block;
mod future;
mod macros;
mod outward;
mod policy;
mod service;

pub use future::ResponseFuture;
pub(crate) use macros::{phase_layer, phase_service};
pub(crate) use policy::{Part, Policy};
pub(crate) use service::Phase;
