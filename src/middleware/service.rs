use std::{
    any::type_name,
    fmt, mem,
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use super::{Next, ResponseFuture};
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// Calls a function with each message; see the [module](crate::middleware).
#[derive(Clone)]
pub struct FromFn<F, S> {
    function: F,
    inner: S,
}

impl<F, S> FromFn<F, S> {
    pub(super) fn new(function: F, inner: S) -> Self {
        Self { function, inner }
    }

    crate::macros::inner_accessors!();
}

impl<F, Fut, S> Service<Message> for FromFn<F, S>
where
    F: Fn(Message, Next) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Reply, BoxError>> + Send + 'static,
    S: McpService,
{
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<Fut>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, message: Message) -> Self::Future {
        // As in the phase layers: the readiness is given back and asked for again by `Next::run`. Kept, it would
        // hold a permit while the function works, or for good where the function answers by itself.
        let fresh = self.inner.clone();
        drop(mem::replace(&mut self.inner, fresh.clone()));
        let next = Next::new(fresh, Arc::clone(message.exchange()));
        ResponseFuture::new((self.function)(message, next))
    }
}

impl<F, S: fmt::Debug> fmt::Debug for FromFn<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFn")
            .field("function", &type_name::<F>())
            .field("inner", &self.inner)
            .finish()
    }
}
