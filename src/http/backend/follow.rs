//! Streams that outlive one HTTP exchange: an answer that is resumed, and the GET stream of a session.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, future::Either, stream};
use http::{HeaderValue, Method, StatusCode};

use super::{
    HttpBackend, HttpClient,
    answer::{self, Answer},
    events::EventBody,
    link::{Link, State},
    own::in_session,
};
use crate::{
    BoxError,
    http::headers,
    message::{Era, Exchange, Id, Kind, Message},
    proxy::{BackendError, BackendErrorKind},
    reply::{Event, Events},
};

/// When to come back unless the backend says (`retry`).
const RETRY: Duration = Duration::from_secs(1);
/// A backend that says `retry: 0` must not keep a core busy.
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How often in a row resuming an answer may fail.
const ATTEMPTS: u32 = 4;

/// Where a stream stands.
#[derive(Default)]
struct Cursor {
    last: Option<HeaderValue>,
    retry: Option<Duration>,
    failures: u32,
}

impl Cursor {
    fn note(&mut self, event: &Event) {
        let Some(sse) = event.sse() else { return };
        if let Some(id) = sse.id() {
            // An empty id takes the last one back.
            self.last = (!id.is_empty())
                .then(|| HeaderValue::from_bytes(id).ok())
                .flatten();
        }
        if let Some(retry) = sse.field("retry") {
            let millis = std::str::from_utf8(&retry)
                .ok()
                .and_then(|text| text.parse().ok());
            self.retry = millis.map(Duration::from_millis).or(self.retry);
        }
    }

    /// How long to wait before the next attempt: what the backend asked for, and longer after each failure.
    fn pause(&self) -> Duration {
        let retry = self.retry.unwrap_or(RETRY).max(SHORTEST_RETRY);
        let longer = retry.saturating_mul(1 << self.failures.min(5));
        longer.min(LONGEST_RETRY.max(retry))
    }
}

/// How a GET went.
enum Got {
    Stream(EventBody),
    /// There is none to be had here.
    Refused(StatusCode),
    /// It may go better another time.
    Failed(BoxError),
}

async fn get<C: HttpClient>(
    backend: &HttpBackend<C>,
    state: &State,
    cursor: &Cursor,
    exchange: &Arc<Exchange>,
) -> Got {
    let mut headers = in_session(state, &Method::GET);
    if let Some(last) = &cursor.last {
        headers.insert(headers::LAST_EVENT_ID, last.clone());
    }
    let deadline = backend.deadline(Kind::Listen);
    let request = backend.request(Method::GET, headers, Bytes::new());
    let response = match backend.send(request, deadline).await {
        Ok(response) => response,
        Err(error) => return Got::Failed(error),
    };
    let status = response.status();
    let limits = backend.shared.limits;
    match answer::read(response, Kind::Listen, exchange, limits, deadline).await {
        Ok(Answer::Stream(_, events)) => Got::Stream(events),
        Ok(Answer::Reply(_)) => Got::Refused(status),
        Err(error) => Got::Failed(error),
    }
}

/// The stream that answers a request. When it ends before the answer and its events had ids, it is resumed.
pub(super) fn answer<C: HttpClient>(
    backend: HttpBackend<C>,
    link: Arc<Link>,
    request: &Message,
    initialize: bool,
    events: EventBody,
) -> Events {
    let answer = Answering {
        backend,
        link,
        exchange: Arc::clone(request.exchange()),
        id: request.id(),
        initialize,
        resumable: request.era() == Era::Legacy,
        events: Some(events),
        cursor: Cursor::default(),
        over: false,
    };
    Events::new(stream::unfold(answer, |mut answer| async {
        answer.next().await.map(|event| (event, answer))
    }))
}

struct Answering<C> {
    backend: HttpBackend<C>,
    link: Arc<Link>,
    exchange: Arc<Exchange>,
    id: Option<Id>,
    initialize: bool,
    resumable: bool,
    events: Option<EventBody>,
    cursor: Cursor,
    /// The answer has come, or never will.
    over: bool,
}

impl<C: HttpClient> Answering<C> {
    async fn next(&mut self) -> Option<Result<Event, BoxError>> {
        loop {
            let Some(events) = &mut self.events else {
                if self.over {
                    return None;
                }
                if let Err(error) = self.resume().await {
                    self.over = true;
                    return Some(Err(error));
                }
                continue;
            };
            match events.next().await {
                Some(Ok(event)) => {
                    self.note(&event);
                    return Some(Ok(event));
                }
                Some(Err(error)) if is_garbage(&error) => {
                    self.events = None;
                    self.over = true;
                    return Some(Err(error));
                }
                Some(Err(_)) | None => self.events = None,
            }
        }
    }

    fn note(&mut self, event: &Event) {
        self.cursor.note(event);
        let Some(message) = event.message() else { return };
        if matches!(message.kind(), Kind::Response | Kind::Error) && message.id() == self.id {
            self.over = true;
            if self.initialize {
                self.link.negotiated(message);
            }
        }
    }

    async fn resume(&mut self) -> Result<(), BoxError> {
        let closed = || BackendError::unavailable("the backend closed its stream before it answered");
        if !self.resumable || self.cursor.last.is_none() {
            return Err(closed().into());
        }
        tokio::time::sleep(self.cursor.pause()).await;
        match get(&self.backend, &self.link.state(), &self.cursor, &self.exchange).await {
            Got::Stream(events) => {
                self.cursor.failures = 0;
                self.events = Some(events);
                Ok(())
            }
            Got::Refused(_) => Err(closed().into()),
            Got::Failed(error) => {
                self.cursor.failures += 1;
                if self.cursor.failures < ATTEMPTS {
                    return Ok(());
                }
                Err(error)
            }
        }
    }
}

pub(super) fn is_garbage(error: &BoxError) -> bool {
    error
        .downcast_ref::<BackendError>()
        .is_some_and(|error| error.kind() == BackendErrorKind::Garbage)
}

/// What belongs to no request, for as long as the connection lasts: the GET stream of each of its sessions.
pub(super) fn listen<C: HttpClient>(backend: HttpBackend<C>, link: Arc<Link>, message: Message) -> Events {
    link.listener_came();
    let listening = Listening {
        backend,
        link,
        exchange: Arc::clone(message.exchange()),
        handshake: None,
        events: None,
        cursor: Cursor::default(),
        over: false,
    };
    drop(message);
    Events::new(stream::unfold(listening, |mut listening| async {
        listening.next().await.map(|event| (event, listening))
    }))
}

struct Listening<C> {
    backend: HttpBackend<C>,
    link: Arc<Link>,
    exchange: Arc<Exchange>,
    /// The handshake whose session the stream belongs to, or to which there is no stream.
    handshake: Option<u64>,
    events: Option<EventBody>,
    cursor: Cursor,
    over: bool,
}

impl<C> Drop for Listening<C> {
    fn drop(&mut self) {
        self.link.listener_left();
    }
}

impl<C: HttpClient> Listening<C> {
    async fn next(&mut self) -> Option<Result<Event, BoxError>> {
        if self.over {
            return None;
        }
        let link = Arc::clone(&self.link);
        loop {
            let (Some(events), Some(handshake)) = (&mut self.events, self.handshake) else {
                self.open().await;
                continue;
            };
            let superseded = pin!(link.superseded(handshake));
            match futures::future::select(superseded, events.next()).await {
                Either::Left(_) => self.events = None,
                Either::Right((Some(Ok(event)), _)) => {
                    self.cursor.note(&event);
                    return Some(Ok(event));
                }
                Either::Right((Some(Err(error)), _)) if is_garbage(&error) => {
                    self.over = true;
                    return Some(Err(error));
                }
                Either::Right((Some(Err(_)) | None, _)) => {
                    self.events = None;
                    self.reopen(handshake).await;
                }
            }
        }
    }

    /// Waits for a new session and opens its stream.
    async fn open(&mut self) {
        let state = self.link.session_after(self.handshake).await;
        self.handshake = Some(state.handshake);
        self.cursor = Cursor::default();
        self.attempt(&state).await;
    }

    /// Opens the stream of the same session once more, after the pause the backend asked for.
    async fn reopen(&mut self, handshake: u64) {
        let link = Arc::clone(&self.link);
        let superseded = pin!(link.superseded(handshake));
        let pause = pin!(tokio::time::sleep(self.cursor.pause()));
        if let Either::Right(_) = futures::future::select(superseded, pause).await {
            let state = self.link.state();
            if state.handshake == handshake {
                self.attempt(&state).await;
            }
        }
    }

    /// Tries until there is a stream, or it is clear that this session has none. That is no failure: a backend
    /// need not offer one (405).
    async fn attempt(&mut self, state: &State) {
        let link = Arc::clone(&self.link);
        loop {
            let got = get(&self.backend, state, &self.cursor, &self.exchange).await;
            link.settled(state.handshake);
            match got {
                Got::Stream(events) => {
                    self.cursor.failures = 0;
                    self.events = Some(events);
                    return;
                }
                Got::Refused(status) => {
                    tracing::debug!(status = status.as_u16(), "the backend offers no GET stream");
                    return;
                }
                Got::Failed(error) => {
                    tracing::debug!(%error, "the GET stream cannot be opened");
                    self.cursor.failures += 1;
                }
            }
            let superseded = pin!(link.superseded(state.handshake));
            let pause = pin!(tokio::time::sleep(self.cursor.pause()));
            if let Either::Left(_) = futures::future::select(superseded, pause).await {
                return;
            }
        }
    }
}
