//! The HTTP client over TCP and TLS.

use std::{
    fmt,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error, ResponseFuture, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tower_service::Service;

use super::EndpointError;

/// Idle connections are closed before Node and uvicorn do it, which is after 5 s: a request that meets their
/// close on its way is lost.
const IDLE: Duration = Duration::from_secs(4);

/// The HTTP/1.1 client that an [`HttpBackend`](super::HttpBackend) uses unless given another.
///
/// It follows no redirects, keeps no cookies and decompresses nothing.
#[derive(Clone)]
pub struct HyperClient(Inner);

#[derive(Clone)]
enum Inner {
    Plain(Client<HttpConnector, Full<Bytes>>),
    #[cfg(feature = "tls")]
    Tls(Client<hyper_rustls::HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl HyperClient {
    pub(super) fn new(https: bool, connect_timeout: Duration) -> Result<Self, EndpointError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect_timeout));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        if !https {
            return Ok(Self(Inner::Plain(builder.build(tcp))));
        }
        #[cfg(feature = "tls")]
        {
            tcp.enforce_http(false);
            // Named, since the default panics where a program has two providers and has chosen none.
            let provider = rustls::crypto::CryptoProvider::get_default()
                .cloned()
                .unwrap_or_else(|| std::sync::Arc::new(rustls::crypto::ring::default_provider()));
            let connector = hyper_rustls::HttpsConnectorBuilder::new()
                .with_provider_and_native_roots(provider)
                .map_err(|_| EndpointError("the system has no root certificates to check https with"))?
                .https_only()
                .enable_http1()
                .wrap_connector(tcp);
            Ok(Self(Inner::Tls(builder.build(connector))))
        }
        #[cfg(not(feature = "tls"))]
        Err(EndpointError(
            "an https:// endpoint needs the feature `tls` of mcp-interceptors",
        ))
    }
}

impl Service<http::Request<Full<Bytes>>> for HyperClient {
    type Response = http::Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Full<Bytes>>) -> ResponseFuture {
        match &self.0 {
            Inner::Plain(client) => client.request(request),
            #[cfg(feature = "tls")]
            Inner::Tls(client) => client.request(request),
        }
    }
}

impl fmt::Debug for HyperClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HyperClient")
    }
}
