//! What a backend knows of a connection for which it is the client: its session.

use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, HeaderValue};
use tokio::sync::watch;

use crate::{
    http::headers,
    message::{Exchange, Kind, Message},
};

/// One connection's session with one backend.
#[derive(Default)]
pub(super) struct Link(watch::Sender<State>);

#[derive(Clone, Default)]
pub(super) struct State {
    /// Counts the handshakes: what belongs to an earlier one is over.
    pub(super) handshake: u64,
    /// The client has said `notifications/initialized`.
    pub(super) initialized: bool,
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
        let handshake = self.state().handshake + 1;
        self.0.send_replace(State {
            handshake,
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
