//! A backend over Streamable HTTP: one HTTP exchange for each message.

mod answer;
mod connect;
mod events;
mod follow;
mod in_process;
mod link;
mod own;
mod relay;
mod send;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use http::Uri;
use tower_service::Service;

use super::frame::DEFAULT_MAX_EVENT_BYTES;
use crate::{
    BoxError,
    message::{DEFAULT_MAX_BYTES, Message},
    reply::Reply,
};

pub use connect::HyperClient;
pub use in_process::InProcess;
pub use send::HttpClient;

/// A server behind a URL, as a service: the innermost one of a stack.
///
/// Requests, notifications and answers are POSTed, `Listen` is a GET and `End` a DELETE. It follows no
/// redirects, so credentials stay with the endpoint they are meant for. Dropping a reply closes its exchange.
///
/// A message that came over HTTP (its exchange has an [`HttpContext`](crate::message::HttpContext)) is relayed:
/// all end-to-end headers go out as they came, and status and headers of the answer come back as a
/// [`Head`](crate::reply::Head). For any other message the backend is an MCP client itself: it keeps the
/// session and the negotiated version of each [`Connection`](crate::message::Connection), opens the GET stream
/// once that is initialised, and resumes streams that break.
///
/// ```
/// use mcp_interceptors::{check, http::HttpBackend};
///
/// let backend = HttpBackend::new("http://127.0.0.1:3001/mcp").unwrap();
/// check(backend);
/// ```
///
/// Any HTTP service in the same process can take the network's place, and a client can be wrapped in layers,
/// such as one that adds a credential:
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use mcp_interceptors::http::HttpBackend;
///
/// async fn server(request: http::Request<Full<Bytes>>) -> Result<http::Response<Full<Bytes>>, std::io::Error> {
///     Ok(http::Response::new(Full::default()))
/// }
///
/// let backend = HttpBackend::builder("http://in.process/mcp").build_with(tower::service_fn(server)).unwrap();
/// # let _ = backend;
/// ```
#[derive(Clone)]
pub struct HttpBackend<C = HyperClient> {
    client: C,
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Uri,
    limits: Limits,
    response_timeout: Option<Duration>,
    /// Tells the backends apart of which one connection may use several.
    key: u64,
}

#[derive(Clone, Copy)]
struct Limits {
    body: usize,
    event: usize,
}

impl HttpBackend {
    /// The server at this endpoint, with the limits that hold unless set otherwise.
    ///
    /// # Errors
    ///
    /// When the URL is none that can be used; see [`HttpBackendBuilder::build`].
    pub fn new(endpoint: impl AsRef<str>) -> Result<Self, EndpointError> {
        Self::builder(endpoint).build()
    }

    /// The server at this endpoint, with settings.
    pub fn builder(endpoint: impl AsRef<str>) -> HttpBackendBuilder {
        HttpBackendBuilder {
            endpoint: endpoint.as_ref().to_owned(),
            limits: Limits {
                body: DEFAULT_MAX_BYTES,
                event: DEFAULT_MAX_EVENT_BYTES,
            },
            connect_timeout: Duration::from_secs(10),
            response_timeout: None,
        }
    }
}

impl<S> HttpBackend<InProcess<S>> {
    /// An HTTP service in the same process that is an MCP server: an axum router, a hyper service. There is no network
    /// in between; see [`InProcess`] for what it is called with. [`guard`](super::guard) puts a whole stack in front of
    /// one.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::Full;
    /// use mcp_interceptors::{check, http::HttpBackend};
    ///
    /// async fn server(
    ///     request: http::Request<Full<Bytes>>,
    /// ) -> Result<http::Response<Full<Bytes>>, std::convert::Infallible> {
    ///     Ok(http::Response::new(Full::default()))
    /// }
    ///
    /// check(HttpBackend::in_process(tower::service_fn(server)));
    /// ```
    pub fn in_process(service: S) -> Self {
        let settings = HttpBackend::builder(String::new());
        settings.over(InProcess::new(service), Uri::from_static(in_process::ENDPOINT))
    }
}

impl<C> fmt::Debug for HttpBackend<C> {
    // Without the query, which may hold a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBackend")
            .field("host", &self.shared.endpoint.authority())
            .field("path", &self.shared.endpoint.path())
            .finish_non_exhaustive()
    }
}

impl<C: HttpClient> Service<Message> for HttpBackend<C> {
    type Response = Reply;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Reply, BoxError>>;

    /// Always ready: a backend that is down says so for each call, since an error here would end a `Buffer`.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let backend = self.clone();
        if message.exchange().http().is_some() {
            Box::pin(relay::call(backend, message))
        } else {
            Box::pin(own::call(backend, message))
        }
    }
}

/// The settings of an [`HttpBackend`].
#[derive(Clone)]
#[must_use]
pub struct HttpBackendBuilder {
    endpoint: String,
    limits: Limits,
    connect_timeout: Duration,
    response_timeout: Option<Duration>,
}

impl HttpBackendBuilder {
    /// How many bytes a JSON answer may have; 10 MiB unless set.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.limits.body = bytes;
        self
    }

    /// How many bytes one event of a stream may have; a little above 10 MiB unless set.
    pub fn max_event(mut self, bytes: usize) -> Self {
        self.limits.event = bytes;
        self
    }

    /// How long connecting may take; 10 s unless set.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long the head of an answer, and a JSON answer as a whole, may take. Unlimited unless set: a tool
    /// may run long. Neither a GET nor the events of a stream are counted.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = Some(timeout);
        self
    }

    /// Makes the backend, with a client over TCP (and TLS, with the feature `tls`).
    ///
    /// # Errors
    ///
    /// When the endpoint is no absolute `http` or `https` URL, holds a user name or password, or is `https`
    /// and the feature `tls` is off or the system has no root certificates.
    pub fn build(self) -> Result<HttpBackend, EndpointError> {
        let https = self.uri()?.scheme_str() == Some("https");
        let client = HyperClient::new(https, self.connect_timeout)?;
        self.build_with(client)
    }

    /// Makes the backend over an HTTP client of the user's.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), but for what concerns TLS.
    pub fn build_with<C: HttpClient>(self, client: C) -> Result<HttpBackend<C>, EndpointError> {
        let endpoint = self.uri()?;
        Ok(self.over(client, endpoint))
    }

    fn over<C>(self, client: C, endpoint: Uri) -> HttpBackend<C> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        HttpBackend {
            client,
            shared: Arc::new(Shared {
                endpoint,
                limits: self.limits,
                response_timeout: self.response_timeout,
                key: NEXT.fetch_add(1, Ordering::Relaxed),
            }),
        }
    }

    fn uri(&self) -> Result<Uri, EndpointError> {
        let uri: Uri = self
            .endpoint
            .parse()
            .map_err(|_| EndpointError("the endpoint is not a URL"))?;
        match (uri.scheme_str(), uri.authority()) {
            (Some("http" | "https"), Some(authority)) if authority.as_str().contains('@') => Err(
                EndpointError("the endpoint must not hold a user name or password"),
            ),
            (Some("http" | "https"), Some(_)) => Ok(uri),
            _ => Err(EndpointError("the endpoint must be an http:// or https:// URL")),
        }
    }
}

impl fmt::Debug for HttpBackendBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpBackendBuilder")
    }
}

/// Why an endpoint cannot be used. It does not repeat the URL, which may hold a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointError(&'static str);

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for EndpointError {}
