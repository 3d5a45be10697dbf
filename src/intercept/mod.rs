//! Mutators, validators and sinks of a chain in one pass.
//!
//! It does what the three layers do when stacked by hand in the natural order, Mutation ▸ Validation ▸ Sink on the
//! side of a client and Validation ▸ Sink ▸ Mutation on that of a server, with one look-up and one budget a phase. The
//! side is explicit, since a proxy can stand on either:
//!
//! * [`client_side`](InterceptorLayer::client_side): a client, or a gateway in front of a server. What is sent is
//!   mutated, then validated, so that rules judge what really leaves; what is received is validated, then mutated.
//! * [`server_side`](InterceptorLayer::server_side): in a server. What is received is validated, then mutated; what is
//!   sent is mutated, then validated.
//!
//! The order follows the flow of a message, not its phase: a server's requests flow the other way and so are treated
//! the other way round.
//!
//! ```
//! use mcp_interceptors::{chain::Chain, intercept::InterceptorLayer, interceptor::Interceptor, message::Message, reply::Reply};
//! use tower::ServiceBuilder;
//!
//! let deny = Interceptor::validator("deny").on("tools/call").request().handler(|| async { false });
//! let chain = Chain::builder().interceptor(deny).build().unwrap();
//! let service = ServiceBuilder::new()
//!     .layer(InterceptorLayer::client_side(chain))
//!     .service_fn(|_: Message| async { Ok::<_, std::convert::Infallible>(Reply::accepted()) });
//! # let _ = mcp_interceptors::check(service);
//! ```

mod layer;
mod service;

pub use crate::phase::ResponseFuture;
pub use layer::InterceptorLayer;
pub use service::Intercept;
