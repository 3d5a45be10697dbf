use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project::pin_project;
use tower::util::Oneshot;

use crate::{BoxError, McpService, message::Message, reply::Reply};

/// The future of [`RequestsOnly`](super::RequestsOnly).
#[pin_project]
pub struct ResponseFuture<L: McpService, S: McpService> {
    #[pin]
    way: Way<L, S>,
}

#[pin_project(project = WayProj)]
enum Way<L: McpService, S: McpService> {
    Limited(#[pin] Oneshot<L, Message>),
    Past(#[pin] Oneshot<S, Message>),
}

impl<L: McpService, S: McpService> ResponseFuture<L, S> {
    pub(super) fn limited(call: Oneshot<L, Message>) -> Self {
        Self {
            way: Way::Limited(call),
        }
    }

    pub(super) fn past(call: Oneshot<S, Message>) -> Self {
        Self { way: Way::Past(call) }
    }
}

impl<L: McpService, S: McpService> Future for ResponseFuture<L, S> {
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().way.project() {
            WayProj::Limited(call) => call.poll(cx).map_err(Into::into),
            WayProj::Past(call) => call.poll(cx).map_err(Into::into),
        }
    }
}

impl<L: McpService, S: McpService> fmt::Debug for ResponseFuture<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
