//! The client's end.

use std::{collections::VecDeque, fmt, future::poll_fn, task::Poll};

use super::dispatch::Dispatcher;
use crate::{
    message::{Id, Kind, Message},
    service::McpService,
};

/// Connects a client with a service, in memory. See the [module](crate::duplex) for an example.
pub fn connect<S: McpService>(service: S) -> Client<S> {
    let mut dispatcher = Dispatcher::new(service);
    dispatcher.listen();
    Client {
        dispatcher,
        received: VecDeque::new(),
    }
}

/// The end that a client program holds.
///
/// Nothing runs in the background: what was sent makes progress while [`next`](Self::next),
/// [`call`](Self::call) or [`end`](Self::end) is awaited. Dropping it drops every exchange.
pub struct Client<S> {
    dispatcher: Dispatcher<S>,
    received: VecDeque<Message>,
}

impl<S: McpService> Client<S> {
    /// Sends a message of any kind. All of them share one connection.
    pub fn send(&mut self, message: Message) {
        self.dispatcher.receive(message);
    }

    /// The next message for the client: an answer, a notification or a request of the server. Waits for as long
    /// as there is none. May be dropped and called again; nothing is lost.
    pub async fn next(&mut self) -> Message {
        loop {
            if let Some(message) = self.received.pop_front() {
                return message;
            }
            let found = poll_fn(|cx| self.dispatcher.poll(cx, true)).await;
            self.received.extend(found);
        }
    }

    /// Sends a request and waits for its answer. What comes in between stays for [`next`](Self::next).
    pub async fn call(&mut self, request: Message) -> Message {
        let id = request.id();
        self.send(request);
        self.answer_to(id.as_ref()).await
    }

    async fn answer_to(&mut self, id: Option<&Id>) -> Message {
        let answers = |message: &Message| {
            matches!(message.kind(), Kind::Response | Kind::Error) && message.id().as_ref() == id
        };
        loop {
            if let Some(at) = self.received.iter().position(answers)
                && let Some(answer) = self.received.remove(at)
            {
                return answer;
            }
            let found = poll_fn(|cx| self.dispatcher.poll(cx, true)).await;
            self.received.extend(found);
        }
    }

    /// Lets what was sent run until nothing waits for an answer any more.
    pub async fn settle(&mut self) {
        poll_fn(|cx| {
            while let Poll::Ready(found) = self.dispatcher.poll(cx, true) {
                self.received.extend(found);
            }
            if self.dispatcher.is_idle() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Ends the connection: the service gets an `End`.
    pub async fn end(mut self) {
        self.dispatcher.end();
        self.settle().await;
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
