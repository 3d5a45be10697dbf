use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project::pin_project;

use super::{
    stream::Watched,
    table::{Running, Scope, Table},
};
use crate::{
    BoxError,
    message::{Exchange, Kind, Message, Origin},
    proxy::BackendError,
    reply::{Body, Events, Reply},
};

/// The future of [`Correlate`](super::Correlate).
#[pin_project]
pub struct ResponseFuture<F> {
    #[pin]
    call: Call<F>,
    watch: Option<Watch>,
}

#[pin_project(project = CallProj)]
pub(super) enum Call<F> {
    Inner {
        #[pin]
        call: F,
    },
    Swallowed,
}

/// What is looked for in a reply.
pub(super) struct Watch {
    pub(super) table: Table,
    pub(super) exchange: Arc<Exchange>,
    pub(super) origin: Option<Origin>,
    pub(super) running: Option<Running>,
    /// The answer has passed.
    pub(super) answered: bool,
}

impl Watch {
    /// Remembers a server's request, and that the call has been answered. `false` for what must not go on: in
    /// reply to a call, another's answer or a second one.
    pub(super) fn see(&mut self, message: &Message) -> bool {
        match message.kind() {
            Kind::Request => {
                self.table.server_asks(&Scope::of(&self.exchange), message);
                true
            }
            Kind::Response | Kind::Error => {
                let Some(origin) = &self.origin else { return true };
                if self.answered || !origin.is_answered_by(message) {
                    return false;
                }
                self.answered = true;
                if let Some(running) = &mut self.running {
                    running.answered();
                }
                true
            }
            Kind::Notification | Kind::Listen | Kind::End => true,
        }
    }

    fn take_in(mut self, reply: Reply) -> Result<Reply, BoxError> {
        let Reply { body, extensions } = reply;
        let body = match body {
            Body::One(message) => {
                let belongs = self.see(&message);
                // A single message is all there is: nothing can be resumed.
                if let Some(running) = &mut self.running {
                    running.answered();
                }
                if !belongs {
                    return Err(BackendError::garbage("the backend answered another request").into());
                }
                Body::One(message)
            }
            Body::Many(events) => Body::Many(Events::new(Watched { events, watch: self })),
            other @ (Body::Accepted | Body::Opaque(_)) => {
                if let Some(running) = &mut self.running {
                    running.answered();
                }
                other
            }
        };
        Ok(Reply { body, extensions })
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(call: Call<F>, watch: Option<Watch>) -> Self {
        Self { call, watch }
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
        let reply = match this.call.project() {
            CallProj::Swallowed => return Poll::Ready(Ok(Reply::accepted())),
            CallProj::Inner { call } => ready!(call.poll(cx)).map_err(Into::into)?,
        };
        let watch = this.watch.take().expect("polled after completion");
        Poll::Ready(watch.take_in(reply))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
