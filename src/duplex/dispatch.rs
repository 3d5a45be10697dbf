//! One client's messages into a service, and everything that comes back.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    StreamExt,
    future::{AbortHandle, Abortable, BoxFuture, FutureExt, abortable},
    stream::{self, BoxStream, FuturesUnordered, SelectAll},
};
use tower::ServiceExt;

use super::failure;
use crate::{
    BoxError,
    message::{Connection, Era, Exchange, Id, Kind, Message},
    reply::{Body, Event, Events, Reply},
    service::McpService,
};

/// How many requests of one client may run at once.
const MAX_IN_FLIGHT: usize = 1_000;
/// How many exchanges of any kind, before its front stops reading.
#[cfg(feature = "stdio")]
const MAX_RUNNING: usize = 10_000;
/// How many bytes one poll collects, about. Beyond it the order is that of several polls.
const MAX_FOUND: usize = 4 * 1024 * 1024;
/// How long after the end of a `Listen` the next is opened.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// A call, with the number of its exchange.
type Calling = BoxFuture<'static, (u64, Result<Reply, BoxError>)>;
/// The events of a reply, with the same.
type Parts = BoxStream<'static, (u64, Part)>;

/// Drives the exchanges of one connection in the caller's own task.
///
/// One task is what makes the order right: all replies are polled until none has anything left, and what they
/// gave is sorted by arrival. Else "notification, then response" on a link, of which one goes to `Listen` and
/// the other to its call, comes out swapped.
pub(crate) struct Dispatcher<S> {
    service: S,
    connection: Arc<Connection>,
    calls: FuturesUnordered<Abortable<Calling>>,
    streams: SelectAll<Abortable<Parts>>,
    running: HashMap<u64, Running>,
    next: u64,
    /// Whether a `Listen` that ends is opened again.
    listens_again: bool,
    /// Made here, not yet handed out.
    own: Vec<Message>,
}

/// What one poll has collected.
#[derive(Default)]
struct Found {
    messages: Vec<(u64, Message)>,
    bytes: usize,
}

impl Found {
    fn push(&mut self, arrival: u64, message: Message) {
        self.bytes += message.bytes().len() + 512;
        self.messages.push((arrival, message));
    }
}

/// An exchange that is not over.
struct Running {
    what: What,
    exchange: Arc<Exchange>,
    abort: AbortHandle,
}

enum What {
    /// Waits for its answer.
    Request {
        id: Id,
        modern: bool,
        listens: bool,
    },
    /// A notification or an answer, until it is taken.
    Told,
    Listen,
    End,
}

enum Part {
    Event(u64, Event),
    Failed(BoxError),
    End,
}

impl<S: McpService> Dispatcher<S> {
    pub(crate) fn new(service: S) -> Self {
        Self {
            service,
            connection: Arc::new(Connection::new()),
            calls: FuturesUnordered::new(),
            streams: SelectAll::new(),
            running: HashMap::new(),
            next: 0,
            listens_again: false,
            own: Vec::new(),
        }
    }

    /// Starts the exchange of a message; it runs as the dispatcher is polled.
    pub(crate) fn receive(&mut self, message: Message) {
        let what = match message.kind() {
            Kind::Request => {
                let Some(id) = message.id() else { return };
                if self.requests() >= MAX_IN_FLIGHT {
                    self.own.push(failure::too_many(&id));
                    return;
                }
                What::Request {
                    id,
                    modern: message.era() == Era::Modern,
                    listens: message.is_request("subscriptions/listen"),
                }
            }
            Kind::Notification => {
                if message.method() == Some("notifications/cancelled") {
                    // After the cancel itself has started: it carries the client's reason.
                    self.start(What::Told, message.clone(), Duration::ZERO);
                    return self.cancel(&message);
                }
                What::Told
            }
            Kind::Response | Kind::Error => What::Told,
            Kind::Listen => What::Listen,
            Kind::End => What::End,
        };
        self.start(what, message, Duration::ZERO);
    }

    /// Asks for what belongs to no call.
    pub(crate) fn listen(&mut self) {
        self.start(What::Listen, Message::listen(), Duration::ZERO);
    }

    /// Asks for it for good: a `Listen` that ends, as an HTTP server may end it at any time, is opened again.
    #[cfg(feature = "stdio")]
    pub(crate) fn keep_listening(&mut self) {
        self.listens_again = true;
        self.listen();
    }

    /// Ends the connection: nobody listens again.
    pub(crate) fn end(&mut self) {
        self.listens_again = false;
        self.start(What::End, Message::end(), Duration::ZERO);
    }

    /// Whether nothing runs but what runs for good.
    pub(crate) fn is_idle(&self) -> bool {
        self.own.is_empty()
            && !self.running.values().any(|running| match running.what {
                What::Request { listens, .. } => !listens,
                What::Told | What::End => true,
                What::Listen => false,
            })
    }

    /// Whether so much runs that nothing more should be read.
    #[cfg(feature = "stdio")]
    pub(crate) fn is_full(&self) -> bool {
        self.running.len() >= MAX_RUNNING
    }

    fn requests(&self) -> usize {
        let requests = self.running.values();
        requests
            .filter(|running| matches!(running.what, What::Request { .. }))
            .count()
    }

    fn start(&mut self, what: What, message: Message, delay: Duration) {
        let exchange = Arc::new(Exchange::new().with_connection(Arc::clone(&self.connection)));
        let message = message.with_exchange(Arc::clone(&exchange));
        let key = self.next;
        self.next += 1;
        let service = self.service.clone();
        let call = async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            (key, service.oneshot(message).await.map_err(Into::into))
        };
        let (call, abort) = abortable(call.boxed());
        self.calls.push(call);
        self.running.insert(
            key,
            Running {
                what,
                exchange,
                abort,
            },
        );
    }

    /// Raises the flag of what the cancel names: it may not have been sent yet. A modern exchange is dropped as
    /// well, which is how its backend learns of it whatever the transport.
    fn cancel(&mut self, message: &Message) {
        let named = message
            .payload()
            .peek("/requestId")
            .and_then(|view| Id::from_json(view.raw()));
        for running in self.running.values() {
            if let What::Request { id, modern, .. } = &running.what
                && Some(id) == named.as_ref()
            {
                running.exchange.cancellation().cancel();
                if *modern {
                    running.abort.abort();
                }
            }
        }
        self.running.retain(|_, running| {
            !matches!(running.what, What::Request { modern: true, .. })
                || !running.exchange.cancellation().is_cancelled()
        });
    }

    /// Collects what there is, sorted by arrival. `Pending` when there is nothing; the task is woken when there
    /// is. `streams` says whether streams are read on, or only replies awaited: a client that reads nothing must
    /// not make this collect without bound, but what it has sent still has to go its way.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, streams: bool) -> Poll<Vec<Message>> {
        let mut found = Found::default();
        self.own.drain(..).for_each(|message| found.push(0, message));
        loop {
            let mut moved = false;
            while let Poll::Ready(Some(done)) = self.calls.poll_next_unpin(cx) {
                moved = true;
                if let Ok((key, reply)) = done {
                    self.replied(key, reply, &mut found);
                }
            }
            while streams && found.bytes < MAX_FOUND {
                match self.streams.poll_next_unpin(cx) {
                    Poll::Ready(Some((key, part))) => {
                        moved = true;
                        self.part(key, part, &mut found);
                    }
                    Poll::Ready(None) | Poll::Pending => break,
                }
            }
            // A whole round without anything: all of them wait.
            if !moved || found.bytes >= MAX_FOUND {
                break;
            }
        }
        let mut found = found.messages;
        if found.is_empty() {
            return Poll::Pending;
        }
        // A stable sort: what has no number, or the same, keeps the order in which it came.
        found.sort_by_key(|(arrival, _)| *arrival);
        Poll::Ready(found.into_iter().map(|(_, message)| message).collect())
    }

    fn replied(&mut self, key: u64, reply: Result<Reply, BoxError>, found: &mut Found) {
        let Some(running) = self.running.get_mut(&key) else {
            return;
        };
        let What::Request { id, .. } = &running.what else {
            return self.taken(key, reply);
        };
        let answer = match reply {
            Ok(reply) => {
                let head = reply.head().cloned();
                match reply.body {
                    Body::Many(events) => {
                        let (stream, abort) = parts(key, events);
                        running.abort = abort;
                        self.streams.push(stream);
                        return;
                    }
                    Body::One(message) => message,
                    Body::Accepted => failure::unanswered(id),
                    Body::Opaque(_) => failure::opaque(id, head.as_ref()),
                }
            }
            Err(error) => {
                tracing::debug!(error = &*error, "a request failed");
                failure::failed(id, &error)
            }
        };
        self.answered(key, answer.arrival(), answer, found);
    }

    /// The reply to what is no request.
    fn taken(&mut self, key: u64, reply: Result<Reply, BoxError>) {
        match (self.running.get_mut(&key), reply) {
            (
                Some(running),
                Ok(Reply {
                    body: Body::Many(events),
                    ..
                }),
            ) if matches!(running.what, What::Listen) => {
                let (stream, abort) = parts(key, events);
                running.abort = abort;
                self.streams.push(stream);
            }
            (_, reply) => {
                self.running.remove(&key);
                if let Err(error) = reply {
                    tracing::debug!(error = &*error, "a message was not taken");
                }
            }
        }
    }

    fn part(&mut self, key: u64, part: Part, found: &mut Found) {
        match part {
            Part::Event(arrival, event) => {
                let Some(message) = event.into_message() else {
                    return;
                };
                let answers = matches!(message.kind(), Kind::Response | Kind::Error);
                match self.running.get(&key).map(|running| &running.what) {
                    Some(What::Request { .. }) if answers => self.answered(key, arrival, message, found),
                    // One answer to a request: a second is dropped.
                    None if answers => {}
                    _ => found.push(arrival, message),
                }
            }
            Part::Failed(error) => {
                tracing::debug!(error = &*error, "a reply broke");
                if let Some(id) = self.waiting(key) {
                    self.answered(key, u64::MAX, failure::failed(&id, &error), found);
                }
            }
            Part::End => {
                if let Some(id) = self.waiting(key) {
                    self.answered(key, u64::MAX, failure::unanswered(&id), found);
                } else if let Some(What::Listen) = self.running.remove(&key).map(|running| running.what)
                    && self.listens_again
                {
                    self.start(What::Listen, Message::listen(), LISTEN_AGAIN);
                }
            }
        }
    }

    /// The id of a request that still waits.
    fn waiting(&self, key: u64) -> Option<Id> {
        match &self.running.get(&key)?.what {
            What::Request { id, .. } => Some(id.clone()),
            What::Told | What::Listen | What::End => None,
        }
    }

    /// No answer follows a cancel.
    fn answered(&mut self, key: u64, arrival: u64, answer: Message, found: &mut Found) {
        let cancelled = self
            .running
            .remove(&key)
            .is_none_or(|running| running.exchange.cancellation().is_cancelled());
        if !cancelled {
            found.push(arrival, answer);
        }
    }
}

/// The events of a reply, numbered so that they keep their order among themselves, with a last part.
fn parts(key: u64, events: Events) -> (Abortable<Parts>, AbortHandle) {
    let mut last = 0;
    let numbered = events.map(move |event| match event {
        Ok(event) => {
            last = last.max(event.message().map_or(0, Message::arrival));
            (key, Part::Event(last, event))
        }
        Err(error) => (key, Part::Failed(error)),
    });
    stream::abortable(numbered.chain(stream::iter([(key, Part::End)])).boxed())
}

impl<S> fmt::Debug for Dispatcher<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher")
            .field("running", &self.running.len())
            .finish_non_exhaustive()
    }
}
