//! The one contract: a service that takes a [`Message`] and gives a [`Reply`].

use std::future::Future;

use tower_service::Service;

use crate::{BoxError, message::Message, reply::Reply};

/// An MCP service: an alias for `Service<Message, Response = Reply>` with what a stack needs of it.
///
/// It is implemented for every such service; nobody implements it by hand.
///
/// ```
/// use mcp_interceptors::{check, message::Message, reply::Reply};
///
/// async fn backend(message: Message) -> Result<Reply, std::convert::Infallible> {
///     Ok(Reply::accepted())
/// }
///
/// let service = check(tower::service_fn(backend));
/// # let _ = service;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an MCP service",
    label = "not a `Service<Message, Response = Reply>` that a stack can use",
    note = "an MCP service takes a `Message`, responds with a `Reply`, fails with something that converts into \
            `BoxError`, has a `Send + 'static` future, and is `Clone + Send + Sync + 'static`"
)]
pub trait McpService:
    Service<Message, Response = Reply, Error: Into<BoxError>, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S, F> McpService for S
where
    S: Service<Message, Response = Reply, Error: Into<BoxError>, Future = F> + Clone + Send + Sync + 'static,
    F: Future + Send + 'static,
{
}

/// Returns the service as it is; the compiler says here what it lacks, and not ten layers further out.
pub fn check<S: McpService>(service: S) -> S {
    service
}
