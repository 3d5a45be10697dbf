use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use super::{ResponseFuture, future::About};
use crate::{
    BoxError, McpService,
    message::{Kind, Message, Origin},
    reply::Reply,
};

/// Turns errors of the inner service into answers; see the [module](crate::rescue).
#[derive(Clone, Debug)]
pub struct Rescue<S> {
    inner: S,
}

impl<S> Rescue<S> {
    /// Around a service.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }

    crate::macros::inner_accessors!();
}

impl<S: McpService> Service<Message> for Rescue<S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // An error here is for good, and there is no message to answer.
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let about = About {
            origin: Origin::of(&message),
            exchange: Arc::clone(message.exchange()),
            is_listen: message.kind() == Kind::Listen,
        };
        ResponseFuture::new(self.inner.call(message), about)
    }
}
