use std::task::{Context, Poll};

use tower::ServiceExt;
use tower_service::Service;

use super::{super::call::is_call, ResponseFuture};
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// Sends calls through a layer and everything else past it; see [`requests_only`](super::requests_only).
#[derive(Clone, Debug)]
pub struct RequestsOnly<L, S> {
    limited: L,
    inner: S,
}

impl<L, S> RequestsOnly<L, S> {
    pub(super) fn new(limited: L, inner: S) -> Self {
        Self { limited, inner }
    }

    /// The inner service, past the layer.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<L: McpService, S: McpService> Service<Message> for RequestsOnly<L, S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<L, S>;

    /// Always ready: a call that has to wait must not hold up an answer.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        if is_call(&message) {
            ResponseFuture::limited(self.limited.clone().oneshot(message))
        } else {
            ResponseFuture::past(self.inner.clone().oneshot(message))
        }
    }
}
