//! What a layer does with a reply.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures::{Stream, future::BoxFuture};
use tower::ServiceExt;

use super::policy::{Bound, Look, Verdict};
use crate::{
    BoxError, McpService,
    chain::Flow,
    message::{AnswerNames, Exchange, Kind, Message, Origin},
    proxy::BackendError,
    reply::{Body, Event, Events, Reply},
};

/// How long the answer to a blocked server request may take to be delivered.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A listen stream's first message. It says that the stream is open; without it the client waits for good.
const ACKNOWLEDGED: &[u8] = b"notifications/subscriptions/acknowledged";

/// A layer's work on the reply to one message.
#[derive(Debug)]
pub(super) struct Outward<S> {
    pub(super) bound: Bound,
    pub(super) origin: Option<Origin>,
    /// Through which a blocked server request is answered.
    pub(super) answers: Option<S>,
    pub(super) exchange: Arc<Exchange>,
    pub(super) is_listen: bool,
}

impl<S: McpService> Outward<S> {
    /// The reply as it is where nothing is to be done; else the work. A stream is wrapped: what it carries is
    /// not known yet.
    pub(super) fn take_in(self, reply: Reply) -> Result<Reply, BoxFuture<'static, Result<Reply, BoxError>>> {
        let Reply { body, extensions } = reply;
        let body = match body {
            Body::Accepted => Body::Accepted,
            Body::One(message) => match self.look(&message) {
                Look::Pass => Body::One(message),
                // In place of the answer that is waited for.
                Look::Unknown => {
                    return Err(Box::pin(async {
                        Err(BackendError::garbage("the backend answered another request").into())
                    }));
                }
                Look::Hooked(..) => {
                    return Err(Box::pin(async move {
                        let body = match self.step(message).await? {
                            Some(message) => Body::One(message),
                            None => Body::Accepted,
                        };
                        Ok(Reply { body, extensions })
                    }));
                }
            },
            Body::Many(events) => Body::Many(Events::new(Inspected {
                events,
                outward: Arc::new(self),
                running: None,
            })),
            Body::Opaque(opaque) => {
                let failed = extensions
                    .get::<crate::reply::Head>()
                    .is_some_and(|head| !head.status.is_success());
                match &self.origin {
                    Some(origin) if !failed && self.bound.must_see_reply_to(origin) => {
                        // Its head describes a body that is not sent.
                        return Ok(Reply::one(self.bound.unreadable(origin, &self.exchange)));
                    }
                    None if !failed && self.is_listen && self.bound.must_see_stream() => {
                        return Err(Box::pin(async {
                            Err(BackendError::garbage("the stream cannot be inspected").into())
                        }));
                    }
                    _ => Body::Opaque(opaque),
                }
            }
        };
        Ok(Reply { body, extensions })
    }

    fn look(&self, message: &Message) -> Look {
        let look = match self.bound.look(message, self.origin.as_ref()) {
            Look::Unknown => {
                let names = self.exchange.slots().get::<AnswerNames>();
                match names.and_then(|names| names.of(message)) {
                    Some(asked) => self.bound.look_at_answer_to(message, asked),
                    None => Look::Unknown,
                }
            }
            look => look,
        };
        if matches!(look, Look::Pass) {
            self.bound.past_validation(message);
        }
        look
    }

    /// What becomes of one outward message; `None` when it must not be delivered.
    async fn step(&self, message: Message) -> Result<Option<Message>, BoxError> {
        let (phase, asked) = match self.look(&message) {
            Look::Pass => return Ok(Some(message)),
            Look::Hooked(phase, asked) => (phase, asked),
            Look::Unknown => {
                tracing::warn!("withheld an answer to nothing that is known to be asked");
                return Ok(None);
            }
        };
        let message = message.with_exchange(Arc::clone(&self.exchange));
        let kind = message.kind();
        let acknowledgement = (message.method_bytes() == ACKNOWLEDGED).then(|| message.clone());
        match self.bound.run(Flow::Outward, phase, message, asked).await {
            Verdict::Pass(message) => Ok(Some(message)),
            Verdict::Block(answer) => match kind {
                Kind::Request => self.answer_server(answer).map(|()| None),
                Kind::Notification => Ok(acknowledgement),
                Kind::Response | Kind::Error | Kind::Listen | Kind::End => Ok(Some(answer)),
            },
        }
    }

    /// Answers a blocked server request, so that the server does not wait for good. In a task of its own: driven
    /// inside the stream the answer would be lost when the client leaves.
    fn answer_server(&self, answer: Message) -> Result<(), BoxError> {
        let Some(service) = self.answers.clone() else {
            // Only a client's own methods are hooked, and no server sends these in any revision.
            return Err(BackendError::garbage("the server sent a request that only clients send").into());
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return Err("there is no runtime to answer the server on".into());
        };
        runtime.spawn(async move {
            match tokio::time::timeout(ANSWER_WITHIN, service.oneshot(answer)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    let error: BoxError = error.into();
                    tracing::warn!(%error, "could not answer a blocked server request");
                }
                Err(_) => tracing::warn!("could not answer a blocked server request in time"),
            }
        });
        Ok(())
    }
}

/// A streamed reply of which each hooked message is run through the layer, in order and one at a time.
struct Inspected<S> {
    events: Events,
    outward: Arc<Outward<S>>,
    running: Option<BoxFuture<'static, Option<Result<Event, BoxError>>>>,
}

impl<S: McpService> Stream for Inspected<S> {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(running) = &mut this.running {
                let done = ready!(running.as_mut().poll(cx));
                this.running = None;
                match done {
                    Some(event) => return Poll::Ready(Some(event)),
                    None => continue,
                }
            }
            let Some(event) = ready!(Pin::new(&mut this.events).poll_next(cx)) else {
                return Poll::Ready(None);
            };
            let mut event = event?;
            match event.message().map(|message| this.outward.look(message)) {
                None | Some(Look::Pass) => return Poll::Ready(Some(Ok(event))),
                Some(Look::Unknown | Look::Hooked(..)) => {}
            }
            let Some(message) = event.take_message() else {
                return Poll::Ready(Some(Ok(event)));
            };
            let outward = Arc::clone(&this.outward);
            this.running = Some(Box::pin(async move {
                match outward.step(message).await {
                    Ok(Some(message)) => {
                        event.set_message(message);
                        Some(Ok(event))
                    }
                    Ok(None) => event.suppressed().map(Ok),
                    Err(error) => Some(Err(error)),
                }
            }));
        }
    }
}
