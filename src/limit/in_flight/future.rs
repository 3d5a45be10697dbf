use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use pin_project::pin_project;
use tokio::sync::OwnedSemaphorePermit;
use tower::{ServiceExt, load_shed::error::Overloaded, util::Oneshot};

use super::reply::hold;
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// The future of [`InFlight`](super::InFlight).
#[pin_project]
pub struct ResponseFuture<S: McpService> {
    #[pin]
    state: State<S>,
}

#[pin_project(project = StateProj)]
pub(super) enum State<S: McpService> {
    Waiting {
        place: BoxFuture<'static, Option<OwnedSemaphorePermit>>,
        then: Option<(S, Message)>,
    },
    Calling {
        #[pin]
        call: Oneshot<S, Message>,
        /// None for what needs none.
        place: Option<OwnedSemaphorePermit>,
    },
    Shed,
}

impl<S: McpService> State<S> {
    pub(super) fn waiting(
        place: BoxFuture<'static, Option<OwnedSemaphorePermit>>,
        inner: S,
        message: Message,
    ) -> Self {
        Self::Waiting {
            place,
            then: Some((inner, message)),
        }
    }

    pub(super) fn calling(call: Oneshot<S, Message>, place: Option<OwnedSemaphorePermit>) -> Self {
        Self::Calling { call, place }
    }
}

impl<S: McpService> ResponseFuture<S> {
    pub(super) fn new(state: State<S>) -> Self {
        Self { state }
    }
}

impl<S: McpService> Future for ResponseFuture<S> {
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Waiting { place, then } => match ready!(place.as_mut().poll(cx)) {
                    Some(place) => {
                        let (inner, message) = then.take().expect("polled after completion");
                        State::calling(inner.oneshot(message), Some(place))
                    }
                    None => State::Shed,
                },
                StateProj::Calling { call, place } => {
                    let reply = ready!(call.poll(cx)).map_err(Into::into);
                    let place = place.take();
                    return Poll::Ready(reply.map(|reply| match place {
                        Some(place) => hold(reply, place),
                        None => reply,
                    }));
                }
                StateProj::Shed => return Poll::Ready(Err(Overloaded::new().into())),
            };
            this.state.set(next);
        }
    }
}

impl<S: McpService> fmt::Debug for ResponseFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
