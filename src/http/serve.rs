//! Serving HTTP on a listener, without a web framework.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::future::{BoxFuture, Either, select};
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use pin_project::pin_project;
use tokio::{net::TcpListener, task::JoinSet};
use tower::ServiceExt;
use tower_service::Service;

use crate::{BoxError, message::Cancellation};

/// Serves HTTP/1.1 on a listener until `shutdown` completes, with the settings of [`Server::new`].
///
/// # Errors
///
/// When the listener fails for good.
pub async fn serve<S, B>(
    listener: TcpListener,
    service: S,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    Server::new().serve(listener, service, shutdown).await
}

/// How to serve HTTP; see [`serve`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Server {
    head_timeout: Duration,
    drain: Duration,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

impl Server {
    /// 30 s for the head of a request to arrive, 10 s to drain.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the head of a request may take to arrive. A connection that stays idle longer is closed.
    pub fn head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout;
        self
    }

    /// How long running exchanges may take to end when the server stops. The streams of GET requests, which
    /// would never end, are closed at once.
    pub fn drain(mut self, timeout: Duration) -> Self {
        self.drain = timeout;
        self
    }

    /// Serves until `shutdown` completes and what runs has ended.
    ///
    /// ```
    /// use mcp_interceptors::http::Server;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// async fn hello(
    ///     _: http::Request<hyper::body::Incoming>,
    /// ) -> Result<http::Response<String>, std::convert::Infallible> {
    ///     Ok(http::Response::new("hello".into()))
    /// }
    ///
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// Server::new().serve(listener, tower::service_fn(hello), async {}).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the listener fails for good.
    pub async fn serve<S, B>(
        self,
        listener: TcpListener,
        service: S,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
            + Clone
            + Send
            + 'static,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let stopping = Cancellation::new();
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = match select(shutdown.as_mut(), pin!(listener.accept())).await {
                Either::Left(_) => break,
                Either::Right((accepted, _)) => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) if is_passing(&error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // Out of descriptors: they come back when others close.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // Without it each event waits for the acknowledgement of the one before.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY");
            }
            let service = Closing {
                inner: service.clone(),
                stopping: stopping.clone(),
            };
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.head_timeout)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
            let stopping = stopping.clone();
            connections.spawn(async move {
                let mut connection = pin!(connection);
                let ended = match select(connection.as_mut(), pin!(stopping.cancelled())).await {
                    Either::Left((ended, _)) => ended,
                    Either::Right(_) => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
                };
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
            });
        }
        drop(listener);
        stopping.cancel();
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.drain, drained).await.is_err() {
            tracing::warn!("some exchanges did not end in time");
            connections.shutdown().await;
        }
        Ok(())
    }
}

/// Whether the listener may well accept the next one.
fn is_passing(error: &io::Error) -> bool {
    // EMFILE and ENFILE have no kind of their own.
    matches!(error.raw_os_error(), Some(23 | 24))
        || matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::Interrupted
                | io::ErrorKind::OutOfMemory
        )
}

/// Ends the streams of GET requests when the server stops.
#[derive(Clone)]
struct Closing<S> {
    inner: S,
    stopping: Cancellation,
}

impl<S, B> Service<Request<Incoming>> for Closing<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Send + 'static,
{
    type Response = Response<ClosingBody<B>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let stopping = (request.method() == Method::GET).then(|| self.stopping.clone());
        let response = self.inner.clone().oneshot(request);
        Box::pin(async move {
            let response = response.await?;
            Ok(response.map(|body| ClosingBody {
                body,
                closed: stopping.map(|stopping| Box::pin(async move { stopping.cancelled().await }) as _),
            }))
        })
    }
}

#[pin_project]
struct ClosingBody<B> {
    #[pin]
    body: B,
    closed: Option<BoxFuture<'static, ()>>,
}

impl<B: http_body::Body> http_body::Body for ClosingBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        match this.body.poll_frame(cx) {
            Poll::Pending => match this.closed {
                Some(closed) => closed.as_mut().poll(cx).map(|()| None),
                None => Poll::Pending,
            },
            ready @ Poll::Ready(_) => ready,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
