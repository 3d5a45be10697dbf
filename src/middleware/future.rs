use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project::pin_project;

use crate::{BoxError, reply::Reply};

/// The future of [`FromFn`](super::FromFn).
#[pin_project]
pub struct ResponseFuture<Fut> {
    #[pin]
    running: Fut,
}

impl<Fut> ResponseFuture<Fut> {
    pub(super) fn new(running: Fut) -> Self {
        Self { running }
    }
}

impl<Fut: Future<Output = Result<Reply, BoxError>>> Future for ResponseFuture<Fut> {
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().running.poll(cx)
    }
}

impl<Fut> fmt::Debug for ResponseFuture<Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
