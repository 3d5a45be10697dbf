//! The states of a call: run, get ready, call, run on the reply.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use pin_project::pin_project;

use super::outward::Outward;
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// The future of a phase layer.
#[pin_project]
pub struct ResponseFuture<S, F> {
    #[pin]
    state: State<S, F>,
}

impl<S, F> ResponseFuture<S, F> {
    pub(super) fn new(state: State<S, F>) -> Self {
        Self { state }
    }
}

/// What interceptors made of a message on its way in.
pub(super) enum Inward {
    Go(Message),
    Done(Reply),
}

#[pin_project(project = StateProj)]
pub(super) enum State<S, F> {
    /// Interceptors run on the message.
    Inward {
        run: BoxFuture<'static, Inward>,
        service: Option<S>,
        outward: Option<Outward<S>>,
    },
    /// The inner service is asked for readiness again.
    Ready {
        service: S,
        message: Option<Message>,
        outward: Option<Outward<S>>,
    },
    /// The inner service works. Without `outward` its reply is passed on as it is.
    Calling {
        #[pin]
        call: F,
        outward: Option<Outward<S>>,
    },
    /// Interceptors run on the reply.
    Outward {
        run: BoxFuture<'static, Result<Reply, BoxError>>,
    },
    /// There is nothing to wait for.
    Done { reply: Option<Reply> },
}

impl<S, F> State<S, F> {
    pub(super) fn inward(run: BoxFuture<'static, Inward>, service: S, outward: Outward<S>) -> Self {
        Self::Inward {
            run,
            service: Some(service),
            outward: Some(outward),
        }
    }

    pub(super) fn calling(call: F, outward: Option<Outward<S>>) -> Self {
        Self::Calling { call, outward }
    }

    pub(super) fn done(reply: Reply) -> Self {
        Self::Done { reply: Some(reply) }
    }
}

impl<S: McpService> Future for ResponseFuture<S, S::Future> {
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Inward {
                    run,
                    service,
                    outward,
                } => match ready!(run.as_mut().poll(cx)) {
                    Inward::Done(reply) => return Poll::Ready(Ok(reply)),
                    Inward::Go(message) => {
                        let service = service.take().expect("polled after completion");
                        State::Ready {
                            service,
                            message: Some(message),
                            outward: outward.take(),
                        }
                    }
                },
                StateProj::Ready {
                    service,
                    message,
                    outward,
                } => {
                    ready!(service.poll_ready(cx)).map_err(Into::into)?;
                    let message = message.take().expect("polled after completion");
                    State::Calling {
                        call: service.call(message),
                        outward: outward.take(),
                    }
                }
                StateProj::Calling { call, outward } => {
                    let reply = ready!(call.poll(cx)).map_err(Into::into)?;
                    match outward.take() {
                        None => return Poll::Ready(Ok(reply)),
                        Some(outward) => match outward.take_in(reply) {
                            Ok(reply) => return Poll::Ready(Ok(reply)),
                            Err(run) => State::Outward { run },
                        },
                    }
                }
                StateProj::Outward { run } => return run.as_mut().poll(cx),
                StateProj::Done { reply } => {
                    return Poll::Ready(Ok(reply.take().expect("polled after completion")));
                }
            };
            this.state.set(next);
        }
    }
}

impl<S, F> fmt::Debug for ResponseFuture<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
