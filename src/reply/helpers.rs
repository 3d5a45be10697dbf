//! Working on all messages of a reply, one or many alike.

use std::future::Future;

use futures::StreamExt;

use super::{Body, Event, Events, Reply};
use crate::{
    BoxError,
    message::{Kind, Message},
};

impl Reply {
    /// Applies `map` to each message, in order.
    #[must_use]
    pub fn map_messages(self, mut map: impl FnMut(Message) -> Message + Send + 'static) -> Self {
        let Self { body, extensions } = self;
        let body = match body {
            Body::One(message) => Body::One(map(message)),
            Body::Many(events) => Body::Many(Events::new(events.map(move |event| {
                event.map(|mut event| {
                    if let Some(message) = event.take_message() {
                        event.set_message(map(message));
                    }
                    event
                })
            }))),
            other @ (Body::Accepted | Body::Opaque(_)) => other,
        };
        Self { body, extensions }
    }

    /// Applies an async function to each message, in order and one at a time; `None` suppresses the message.
    /// A stream's SSE ids survive.
    ///
    /// # Errors
    ///
    /// What `then` returns for a single message. In a stream it becomes the stream's error.
    pub async fn then_messages<F, Fut>(self, mut then: F) -> Result<Self, BoxError>
    where
        F: FnMut(Message) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Option<Message>, BoxError>> + Send + 'static,
    {
        let Self { body, extensions } = self;
        let body = match body {
            Body::One(message) => then(message).await?.map_or(Body::Accepted, Body::One),
            Body::Many(events) => Body::Many(Events::new(events.filter_map(move |event| {
                let step = event.map(|mut event| {
                    let running = event.take_message().map(&mut then);
                    (event, running)
                });
                async move {
                    match step {
                        Err(error) => Some(Err(error)),
                        Ok((event, None)) => Some(Ok(event)),
                        Ok((mut event, Some(running))) => match running.await {
                            Err(error) => Some(Err(error)),
                            Ok(None) => event.suppressed().map(Ok),
                            Ok(Some(message)) => {
                                event.set_message(message);
                                Some(Ok(event))
                            }
                        },
                    }
                }
            }))),
            other @ (Body::Accepted | Body::Opaque(_)) => other,
        };
        Ok(Self { body, extensions })
    }

    /// Drives the reply to its answer. What comes before it (notifications, server requests) goes to
    /// `on_event`. `None` when there is no answer: a notification was taken, or the stream ended without one.
    ///
    /// # Errors
    ///
    /// The stream's own; and when the reply is no JSON-RPC.
    pub async fn into_one(self, mut on_event: impl FnMut(Event)) -> Result<Option<Message>, BoxError> {
        match self.body {
            Body::Accepted => Ok(None),
            Body::One(message) => Ok(Some(message)),
            Body::Opaque(_) => Err("the backend's answer is no JSON-RPC".into()),
            Body::Many(mut events) => {
                while let Some(event) = events.next().await {
                    let mut event = event?;
                    match event.message().map(Message::kind) {
                        Some(Kind::Response | Kind::Error) => return Ok(event.take_message()),
                        _ => on_event(event),
                    }
                }
                Ok(None)
            }
        }
    }
}
