//! An HTTP service in the same process in the network's place.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Uri, header};
use http_body_util::Full;
use tower_service::Service;

use super::relay::Relayed;

/// Where requests go that did not come over HTTP.
pub(super) const ENDPOINT: &str = "http://localhost/";

/// The client of a backend in the same process; see [`HttpBackend::in_process`](super::HttpBackend::in_process).
///
/// The service gets a request as the front got it: with its target, its `Host` and its extensions, in which layers
/// further out have left what they know (a principal, the peer's address). The body is what the stack made of it.
#[derive(Clone, Copy, Debug)]
pub struct InProcess<S> {
    service: S,
}

impl<S> InProcess<S> {
    pub(super) fn new(service: S) -> Self {
        Self { service }
    }

    /// The service.
    pub fn get_ref(&self) -> &S {
        &self.service
    }
}

impl<S: Service<http::Request<Full<Bytes>>>> Service<http::Request<Full<Bytes>>> for InProcess<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<Full<Bytes>>) -> S::Future {
        let relayed = request.extensions_mut().remove::<Relayed>();
        let mut host = None;
        if let Some(http) = relayed.as_ref().and_then(|Relayed(exchange)| exchange.http()) {
            *request.uri_mut() = http.uri.clone();
            request.extensions_mut().extend(http.extensions.clone());
            host = http.headers.get(header::HOST).cloned();
        }
        let host = host.or_else(|| host_of(request.uri()));
        if let Some(host) = host {
            request.headers_mut().insert(header::HOST, host);
        }
        self.service.call(request)
    }
}

fn host_of(uri: &Uri) -> Option<HeaderValue> {
    HeaderValue::from_str(uri.authority()?.as_str()).ok()
}
