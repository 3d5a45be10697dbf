//! The service of every phase layer.

use std::{
    mem,
    task::{Context, Poll},
};

use tower_service::Service;

use super::{
    Policy, ResponseFuture,
    future::{Inward, State},
    outward::Outward,
    policy::{Look, Verdict},
};
use crate::{
    BoxError, McpService,
    chain::Flow,
    message::{Kind, Message, Origin},
    reply::Reply,
};

/// Runs a part of a chain on each message, inward before the inner service gets it and outward before the
/// caller does.
#[derive(Clone, Debug)]
pub(crate) struct Phase<S> {
    pub(crate) inner: S,
    policy: Policy,
}

impl<S> Phase<S> {
    pub(crate) fn new(inner: S, policy: Policy) -> Self {
        Self { inner, policy }
    }
}

impl<S: McpService> Service<Message> for Phase<S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<S, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let bound = self.policy.bind(&message);
        if bound.chain.is_empty() {
            return ResponseFuture::new(State::calling(self.inner.call(message), None));
        }
        let mut origin = Origin::of(&message);
        if let Some(origin) = origin.as_mut().filter(|origin| bound.wants_request_of(origin)) {
            origin.keep_request(&message);
        }
        // A blocked server request is answered through a service of its own. The clone is made only where such
        // a request can be hooked at all.
        let answers = bound
            .chain
            .plans()
            .any_server_request()
            .then(|| self.inner.clone());
        let is_listen = message.kind() == Kind::Listen;
        let exchange = message.exchange().clone();
        match bound.look(&message, None) {
            Look::Pass => {
                let outward = Outward {
                    bound,
                    origin,
                    answers,
                    exchange,
                    is_listen,
                };
                ResponseFuture::new(State::calling(self.inner.call(message), Some(outward)))
            }
            Look::Unknown => {
                tracing::warn!("swallowed an answer to nothing that is known to be asked");
                ResponseFuture::new(State::done(Reply::accepted()))
            }
            Look::Hooked(phase, asked) => {
                // The readiness that was waited for is given back: kept, it would hold a permit while
                // interceptors run. A clone readied beside it would wait for the very permit it holds.
                let fresh = self.inner.clone();
                drop(mem::replace(&mut self.inner, fresh.clone()));
                let outward = Outward {
                    bound: bound.clone(),
                    origin,
                    answers,
                    exchange,
                    is_listen,
                };
                let kind = message.kind();
                let run = async move {
                    match bound.run(Flow::Inward, phase, message, asked).await {
                        Verdict::Pass(message) => Inward::Go(message),
                        // The server waits for this answer: it gets an error in its place.
                        Verdict::Block(answer) if matches!(kind, Kind::Response | Kind::Error) => {
                            Inward::Go(answer)
                        }
                        Verdict::Block(_) if kind == Kind::Notification => Inward::Done(Reply::accepted()),
                        Verdict::Block(answer) => Inward::Done(Reply::one(answer)),
                    }
                };
                ResponseFuture::new(State::inward(Box::pin(run), fresh, outward))
            }
        }
    }
}
