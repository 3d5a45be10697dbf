use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project::pin_project;
use tower::util::Oneshot;

use super::{stream::limit, watch::Watch};
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// The future of [`Deadline`](super::Deadline).
#[pin_project]
pub struct ResponseFuture<S: McpService> {
    /// None when it took too long.
    #[pin]
    call: Option<Oneshot<S, Message>>,
    /// None for what is not limited.
    watch: Option<Watch<S>>,
}

impl<S: McpService> ResponseFuture<S> {
    pub(super) fn new(call: Oneshot<S, Message>, watch: Option<Watch<S>>) -> Self {
        Self {
            call: Some(call),
            watch,
        }
    }
}

impl<S: McpService> Future for ResponseFuture<S> {
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let call = this.call.as_mut().as_pin_mut().expect("polled after completion");
        if let Poll::Ready(reply) = call.poll(cx) {
            let reply = reply.map_err(Into::into);
            return Poll::Ready(reply.map(|reply| match this.watch.take() {
                Some(watch) => limit(reply, watch),
                None => reply,
            }));
        }
        let Some(watch) = this.watch.as_mut() else {
            return Poll::Pending;
        };
        let late = ready!(watch.clock.poll_late(cx));
        this.call.set(None);
        if let Some(watch) = this.watch.take() {
            watch.cancel(late);
        }
        Poll::Ready(Err(late.error().into()))
    }
}

impl<S: McpService> fmt::Debug for ResponseFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
