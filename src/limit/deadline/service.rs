use std::{
    task::{Context, Poll},
    time::Duration,
};

use tower::ServiceExt;
use tower_service::Service;

use super::{super::call::is_call, ResponseFuture, clock::Clock, watch::Watch};
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// Limits how long a call may take; see [`DeadlineLayer`](super::DeadlineLayer).
#[derive(Clone, Debug)]
pub struct Deadline<S> {
    inner: S,
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl<S> Deadline<S> {
    pub(super) fn new(inner: S, total: Option<Duration>, idle: Option<Duration>) -> Self {
        Self { inner, total, idle }
    }

    crate::macros::inner_accessors!();
}

impl<S: McpService> Service<Message> for Deadline<S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<S>;

    /// Always ready: a call waits for the inner service inside its future, where the clock runs.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let limited = is_call(&message) && (self.total.is_some() || self.idle.is_some());
        let watch = limited
            .then(|| Watch::new(&self.inner, &message, Clock::new(self.total, self.idle)))
            .flatten();
        ResponseFuture::new(self.inner.clone().oneshot(message), watch)
    }
}
