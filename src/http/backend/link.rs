//! What a backend knows of a connection for which it is the client: its session.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderMap, HeaderValue};
use tokio::sync::watch;

use crate::{
    http::headers,
    message::{Exchange, Kind, Message},
};

/// How long messages wait for the GET stream of their session. A backend may send the head of its response with
/// the first event only.
const STREAM_OPENS_WITHIN: Duration = Duration::from_secs(1);

/// One connection's session with one backend.
#[derive(Default)]
pub(super) struct Link(watch::Sender<State>);

#[derive(Clone, Default)]
pub(super) struct State {
    /// Counts the handshakes: what belongs to an earlier one is over.
    pub(super) handshake: u64,
    /// `notifications/initialized` is on its way.
    greeting: bool,
    /// The backend has taken `notifications/initialized`.
    pub(super) initialized: bool,
    /// How many listen for what the backend says unasked.
    listeners: usize,
    /// The backend has answered the GET of this session, whatever it said.
    settled: bool,
    pub(super) session: Option<HeaderValue>,
    /// The version that was negotiated.
    version: Option<HeaderValue>,
    /// The version of the last modern request, for messages that do not say theirs.
    modern: Option<HeaderValue>,
}

/// The sessions of one connection, by backend.
#[derive(Default)]
struct Links(Mutex<Vec<(u64, Arc<Link>)>>);

impl Link {
    /// The one of this exchange's connection; without a connection nothing outlives the exchange.
    pub(super) fn of(exchange: &Exchange, key: u64) -> Arc<Self> {
        let Some(connection) = exchange.connection() else {
            return Arc::default();
        };
        let links = connection.slots().get_or_insert(Arc::<Links>::default);
        let mut links = links.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, link)) = links.iter().find(|(of, _)| *of == key) {
            return Arc::clone(link);
        }
        let link = Arc::default();
        links.push((key, Arc::clone(&link)));
        link
    }

    /// The client says `initialize`: what was before is over.
    pub(super) fn begin(&self) {
        self.0.send_modify(|state| {
            *state = State {
                handshake: state.handshake + 1,
                listeners: state.listeners,
                ..State::default()
            }
        });
    }

    /// The backend has answered `initialize`, with these headers.
    pub(super) fn assigned(&self, headers: &HeaderMap) {
        let session = headers.get(headers::SESSION_ID).cloned();
        self.0.send_modify(|state| state.session = session);
    }

    /// The answer to `initialize` itself.
    pub(super) fn negotiated(&self, answer: &Message) {
        let payload = answer.payload();
        let version = match payload.get("/protocolVersion") {
            Ok(Some(version)) if answer.kind() == Kind::Response => version.string(),
            _ => None,
        };
        let version = version.and_then(|version| HeaderValue::from_str(&version).ok());
        self.0.send_modify(|state| state.version = version);
    }

    pub(super) fn initialized(&self) {
        self.0.send_modify(|state| state.initialized = true);
    }

    /// `notifications/initialized` is about to be sent, or could not be.
    pub(super) fn greeting(&self, greeting: bool) {
        self.0.send_modify(|state| state.greeting = greeting);
    }

    pub(super) fn modern(&self, version: &HeaderValue) {
        self.0.send_if_modified(|state| {
            let new = state.modern.as_ref() != Some(version);
            if new {
                state.modern = Some(version.clone());
            }
            new
        });
    }

    /// The session is over; gives back how it was.
    pub(super) fn end(&self) -> State {
        let State {
            handshake, listeners, ..
        } = self.state();
        self.0.send_replace(State {
            handshake: handshake + 1,
            listeners,
            ..State::default()
        })
    }

    pub(super) fn state(&self) -> State {
        self.0.borrow().clone()
    }

    /// Waits for an initialised session of a handshake after that one.
    pub(super) async fn session_after(&self, handshake: Option<u64>) -> State {
        let mut states = self.0.subscribe();
        let wanted = |state: &State| state.initialized && Some(state.handshake) != handshake;
        let state = states.wait_for(wanted).await.map(|state| state.clone());
        match state {
            Ok(state) => state,
            // The sender is `self`.
            Err(_) => std::future::pending().await,
        }
    }

    pub(super) fn listener_came(&self) {
        self.0.send_modify(|state| state.listeners += 1);
    }

    pub(super) fn listener_left(&self) {
        self.0.send_modify(|state| state.listeners -= 1);
    }

    /// The backend has answered the GET of that handshake's session.
    pub(super) fn settled(&self, handshake: u64) {
        self.0.send_if_modified(|state| {
            let first = state.handshake == handshake && !state.settled;
            state.settled |= first;
            first
        });
    }

    /// Waits until the backend has been greeted and the stream that somebody listens on is open, for a while. A
    /// client over a pipe says one thing after the other and cannot see that HTTP does not: what the backend says
    /// unasked before the stream is open would be lost.
    pub(super) async fn listening(&self) {
        let waits =
            |state: &State| state.greeting && !(state.initialized && (state.settled || state.listeners == 0));
        if waits(&self.0.borrow()) {
            let mut states = self.0.subscribe();
            let open = states.wait_for(|state| !waits(state));
            if tokio::time::timeout(STREAM_OPENS_WITHIN, open).await.is_err() {
                tracing::debug!("the GET stream is slow to open; going on without it");
            }
        }
    }

    /// Waits until that handshake is not the last one any more.
    pub(super) async fn superseded(&self, handshake: u64) {
        let mut states = self.0.subscribe();
        if states
            .wait_for(|state| state.handshake != handshake)
            .await
            .is_err()
        {
            std::future::pending().await
        }
    }
}

impl State {
    /// Whether all that is known of the client says that it is stateless.
    pub(super) fn is_modern(&self) -> bool {
        self.modern.is_some() && self.handshake == 0
    }

    /// The version to name for a message that does not say its own.
    pub(super) fn version(&self) -> Option<&HeaderValue> {
        self.version.as_ref().or(self.modern.as_ref())
    }
}
