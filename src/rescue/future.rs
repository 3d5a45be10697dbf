use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project::pin_project;

use super::{Cause, stream::Rescued};
use crate::{
    BoxError,
    message::{Exchange, Origin},
    reply::{Body, Events, Reply},
};

/// The future of [`Rescue`](super::Rescue).
#[pin_project]
pub struct ResponseFuture<F> {
    #[pin]
    call: F,
    about: Option<About>,
}

/// The message whose reply is rescued.
#[derive(Debug)]
pub(super) struct About {
    pub(super) origin: Option<Origin>,
    pub(super) exchange: Arc<Exchange>,
    pub(super) is_listen: bool,
}

impl About {
    /// Whether the front is HTTP, which has statuses and can relay what is no JSON-RPC.
    pub(super) fn is_http(&self) -> bool {
        self.exchange.http().is_some()
    }

    fn fail(&self, error: &BoxError) -> Reply {
        tracing::warn!(error = ?error.to_string(), "a message could not be served");
        let cause = Cause::of(error);
        match &self.origin {
            Some(origin) => cause.reply(origin.id().as_ref(), &self.exchange),
            // A notification has no answer; over HTTP its status tells.
            None if self.is_http() => cause.reply(None, &self.exchange),
            None => Reply::accepted(),
        }
    }

    fn rescue(self, reply: Reply) -> Reply {
        let Reply { body, extensions } = reply;
        let body = match body {
            Body::Many(events) => Body::Many(Events::new(Rescued::new(events, self))),
            Body::Opaque(opaque) => match &self.origin {
                Some(origin) if !self.is_http() => {
                    return Cause::not_json_rpc(extensions.get()).reply(origin.id().as_ref(), &self.exchange);
                }
                None if !self.is_http() && !self.is_listen => Body::Accepted,
                _ => Body::Opaque(opaque),
            },
            other @ (Body::Accepted | Body::One(_)) => other,
        };
        Reply { body, extensions }
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(call: F, about: About) -> Self {
        Self {
            call,
            about: Some(about),
        }
    }
}

impl<F, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Reply, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Reply, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reply = ready!(this.call.poll(cx));
        let about = this.about.take().expect("polled after completion");
        Poll::Ready(Ok(match reply {
            Ok(reply) => about.rescue(reply),
            Err(error) => about.fail(&error.into()),
        }))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
