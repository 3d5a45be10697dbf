//! The innermost service of a stack.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project::pin_project;
use tower_service::Service;

use crate::{
    BoxError, McpService,
    message::{Kind, Message},
    reply::Reply,
};

/// Forwards messages to a backend, which is any MCP service: an HTTP backend, a child process, a function.
///
/// It does not send a request that has been cancelled meanwhile: an interceptor may have held it while the
/// cancel went past, and the backend would then work for nobody.
///
/// ```
/// use mcp_interceptors::{message::Message, proxy::McpProxyService, reply::Reply};
///
/// async fn backend(message: Message) -> Result<Reply, std::convert::Infallible> {
///     Ok(Reply::accepted())
/// }
///
/// let proxy = McpProxyService::new(tower::service_fn(backend));
/// # let _ = mcp_interceptors::check(proxy);
/// ```
#[derive(Clone, Debug)]
pub struct McpProxyService<B> {
    backend: B,
}

impl<B> McpProxyService<B> {
    /// In front of a backend.
    pub const fn new(backend: B) -> Self {
        Self { backend }
    }

    /// The backend.
    pub fn get_ref(&self) -> &B {
        &self.backend
    }

    /// The backend, without the proxy.
    pub fn into_inner(self) -> B {
        self.backend
    }
}

impl<B: McpService> Service<Message> for McpProxyService<B> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<B::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.backend.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let cancelled = message.kind() == Kind::Request && message.exchange().cancellation().is_cancelled();
        ResponseFuture {
            call: (!cancelled).then(|| self.backend.call(message)),
        }
    }
}

/// The future of [`McpProxyService`].
#[pin_project]
pub struct ResponseFuture<F> {
    /// None for a request that is not sent.
    #[pin]
    call: Option<F>,
}

impl<F, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Reply, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().call.as_pin_mut() {
            Some(call) => Poll::Ready(ready!(call.poll(cx)).map_err(Into::into)),
            // Nobody waits for an answer to what was cancelled.
            None => Poll::Ready(Ok(Reply::accepted())),
        }
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
