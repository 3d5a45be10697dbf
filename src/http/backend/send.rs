//! One HTTP exchange: sending the request, and what its failure is called.

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tokio::time::Instant;
use tower::ServiceExt;
use tower_service::Service;

use super::HttpBackend;
use crate::{BoxError, message::Kind, proxy::BackendError};

/// An HTTP client: an alias for `Service<http::Request<Full<Bytes>>>` with what a backend needs of it.
///
/// It is implemented for every such service; nobody implements it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an HTTP client",
    label = "not a `Service<http::Request<Full<Bytes>>>` that a backend can use",
    note = "a client responds with an `http::Response`, fails with something that converts into `BoxError`, \
            has a `Send` future, and is `Clone + Send + Sync + 'static`"
)]
pub trait HttpClient:
    Service<
        http::Request<Full<Bytes>>,
        Response = http::Response<Self::Body>,
        Error: Into<BoxError>,
        Future: Send,
    > + Clone
    + Send
    + Sync
    + 'static
{
    /// The body of its responses.
    type Body: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> HttpClient for S
where
    S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static,
{
    type Body = B;
}

/// The body of an answer, whatever the client.
pub(super) type Incoming = UnsyncBoxBody<Bytes, BoxError>;

impl<C: HttpClient> HttpBackend<C> {
    /// Until when the answer to a message that is sent now must be there. Some servers send the head of a GET
    /// stream with its first event only.
    pub(super) fn deadline(&self, kind: Kind) -> Option<Instant> {
        let timeout = self.shared.response_timeout.filter(|_| kind != Kind::Listen)?;
        Some(Instant::now() + timeout)
    }

    pub(super) async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
        deadline: Option<Instant>,
    ) -> Result<http::Response<Incoming>, BoxError> {
        let answer = self.client.clone().oneshot(request);
        let response = by(deadline, answer)
            .await?
            .map_err(|error| unavailable(error.into()))?;
        Ok(response.map(|body| {
            body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))
                .map_err(Into::into)
                .boxed_unsync()
        }))
    }
}

/// Waits, but not longer than that.
pub(super) async fn by<F: Future>(deadline: Option<Instant>, future: F) -> Result<F::Output, BackendError> {
    match deadline {
        None => Ok(future.await),
        Some(deadline) => tokio::time::timeout_at(deadline, future)
            .await
            .map_err(|_| BackendError::timeout("the backend did not answer in time")),
    }
}

fn unavailable(error: BoxError) -> BoxError {
    if error.is::<BackendError>() {
        return error;
    }
    let connect = error
        .downcast_ref::<hyper_util::client::legacy::Error>()
        .is_some_and(hyper_util::client::legacy::Error::is_connect);
    let reason = if connect {
        "the backend cannot be reached"
    } else {
        "the backend closed the connection before it answered"
    };
    BackendError::unavailable(reason).with_source(error).into()
}
