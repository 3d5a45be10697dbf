use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::sync::Semaphore;
use tower::ServiceExt;
use tower_service::Service;

use super::{super::call::is_call, ResponseFuture, future::State};
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// Limits how many calls run at a time; see [`InFlightLayer`](super::InFlightLayer).
#[derive(Clone, Debug)]
pub struct InFlight<S> {
    inner: S,
    places: Arc<Semaphore>,
    wait: Duration,
}

impl<S> InFlight<S> {
    pub(super) fn new(inner: S, places: Arc<Semaphore>, wait: Duration) -> Self {
        Self { inner, places, wait }
    }

    crate::macros::inner_accessors!();
}

impl<S: McpService> Service<Message> for InFlight<S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<S>;

    /// Always ready: a call waits inside its future, so that it does not hold up an answer.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let inner = self.inner.clone();
        if !is_call(&message) {
            return ResponseFuture::new(State::calling(inner.oneshot(message), None));
        }
        ResponseFuture::new(match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => State::calling(inner.oneshot(message), Some(place)),
            Err(_) if self.wait.is_zero() => State::Shed,
            Err(_) => {
                let (places, wait) = (Arc::clone(&self.places), self.wait);
                let place = async move {
                    let place = tokio::time::timeout(wait, places.acquire_owned()).await;
                    place.ok().and_then(Result::ok)
                };
                State::waiting(Box::pin(place), inner, message)
            }
        })
    }
}
