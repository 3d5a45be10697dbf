//! Serving a stack over Streamable HTTP.

mod answer;
mod body;
mod checks;
mod future;
mod read;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tower_service::Service;

use crate::{BoxError, McpService, message::DEFAULT_MAX_BYTES};

pub use body::ResponseBody;
pub use future::ResponseFuture;

/// Serves an MCP service over HTTP: a POST is a message, a GET asks for the stream of what belongs to no
/// request, a DELETE ends the session.
///
/// What is no message never reaches the service: it is answered with a status and, where that helps, a
/// JSON-RPC error. So are requests of a foreign `Origin` and, unless [`loopback_only`](Self::loopback_only) is
/// turned off, those that name another host than this machine: a web page can make a browser send both.
///
/// The client of a legacy request may go away: the call runs on, as the protocol has it. When that of a
/// 2026-07-28 request goes, everything is dropped.
///
/// ```
/// use mcp_interceptors::{http::StreamableHttp, message::Message, reply::Reply};
///
/// # fn mount() -> axum::Router {
/// async fn backend(message: Message) -> Result<Reply, std::convert::Infallible> {
///     Ok(Reply::accepted())
/// }
///
/// let mcp = StreamableHttp::new(tower::service_fn(backend)).allow_origin("https://app.example.com");
/// axum::Router::new().route_service("/mcp", mcp)
/// # }
/// # mount();
/// ```
///
/// An authenticating layer in front of it leaves a [`Principal`](crate::message::Principal) in the request's
/// extensions.
#[derive(Clone)]
pub struct StreamableHttp<S> {
    inner: S,
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    max_body: usize,
    body_timeout: Option<Duration>,
    keep_alive: Option<Duration>,
    path: Option<String>,
    loopback_only: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl<S> StreamableHttp<S> {
    /// Serves `inner`: 10 MiB for a body, 30 s for each part of it to arrive, 15 s between keep-alive comments, this machine alone.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            settings: Arc::new(Settings {
                max_body: DEFAULT_MAX_BYTES,
                body_timeout: Some(Duration::from_secs(30)),
                keep_alive: Some(Duration::from_secs(15)),
                path: None,
                loopback_only: true,
                hosts: Vec::new(),
                origins: Vec::new(),
            }),
        }
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(&mut self.settings));
        self
    }

    /// How many bytes the body of a request may have.
    #[must_use]
    pub fn max_body(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_body = bytes)
    }

    /// How long nothing of a body that is not complete may arrive; then the request is answered with 408. `None`
    /// for as long as it likes.
    #[must_use]
    pub fn body_timeout(self, silence: impl Into<Option<Duration>>) -> Self {
        let silence = silence.into();
        self.set(|settings| settings.body_timeout = silence)
    }

    /// After how long a silence a stream gets a comment, so that no intermediary takes it for dead; `None` for
    /// never.
    #[must_use]
    pub fn keep_alive(self, silence: impl Into<Option<Duration>>) -> Self {
        let silence = silence.into();
        self.set(|settings| settings.keep_alive = silence)
    }

    /// Serves at this path alone; anything else is not found. A router in front of it does that as well.
    #[must_use]
    pub fn only_path(self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.set(|settings| settings.path = Some(path))
    }

    /// Whether `Host` must name this machine or be allowed. Turn it off only where others are meant to come in
    /// and something in front knows who they are.
    #[must_use]
    pub fn loopback_only(self, only: bool) -> Self {
        self.set(|settings| settings.loopback_only = only)
    }

    /// Allows a `Host`: a name (any port), or a name with a port.
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        let host = host.into();
        self.set(|settings| settings.hosts.push(host))
    }

    /// Allows an `Origin`: as browsers write it (`https://app.example.com`), or the name of a host alone.
    #[must_use]
    pub fn allow_origin(self, origin: impl Into<String>) -> Self {
        let origin = origin.into();
        self.set(|settings| settings.origins.push(origin))
    }

    /// The service it serves.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: fmt::Debug> fmt::Debug for StreamableHttp<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamableHttp")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<S, B> Service<http::Request<B>> for StreamableHttp<S>
where
    S: McpService,
    B: http_body::Body<Error: Into<BoxError>> + Send + 'static,
{
    type Response = http::Response<ResponseBody>;
    type Error = Infallible;
    type Future = ResponseFuture<S, B>;

    /// Always ready: each request waits for a clone of the service by itself, so that none holds up another.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        match checks::check(&request, &self.settings) {
            Ok(kind) => ResponseFuture::new(self.inner.clone(), Arc::clone(&self.settings), request, kind),
            Err(refusal) => {
                read::read_away(request.into_body(), self.settings.max_body);
                ResponseFuture::refused(refusal)
            }
        }
    }
}
