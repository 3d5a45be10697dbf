//! What surrounds a message: the exchange it belongs to.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use http::HeaderMap;
use tokio::sync::Notify;

/// Which generation of the protocol a message speaks. Every message is judged by itself, not its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: a handshake, sessions, server requests.
    #[default]
    Legacy,
    /// From 2026-07-28: stateless, each request carries its protocol version in `_meta`.
    Modern,
}

/// Who sent a message, as an authenticating layer in front of the stack has found out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Principal {
    /// What kind of caller it is.
    pub kind: PrincipalKind,
    /// Its name, unique among those the authenticator knows (issuer and subject, say).
    pub id: Arc<str>,
}

/// What kind of caller a [`Principal`] is (SEP-2624, `context.principal.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// A person.
    User,
    /// A program.
    Service,
    /// Nobody known.
    Anonymous,
}

impl Principal {
    /// A principal of a kind.
    pub fn new(kind: PrincipalKind, id: impl Into<Arc<str>>) -> Self {
        Self { kind, id: id.into() }
    }

    /// A person.
    pub fn user(id: impl Into<Arc<str>>) -> Self {
        Self::new(PrincipalKind::User, id)
    }
}

/// The HTTP request that brought a message.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HttpContext {
    /// Its method.
    pub method: http::Method,
    /// Its target, as the front saw it.
    pub uri: http::Uri,
    /// Its headers.
    pub headers: HeaderMap,
    /// What layers in front of the stack have left: a principal, a request id.
    pub extensions: http::Extensions,
}

impl HttpContext {
    /// Takes the parts of a request.
    #[must_use]
    pub fn new(parts: http::request::Parts) -> Self {
        Self {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            extensions: parts.extensions,
        }
    }
}

/// The circumstances of one exchange: a request with all its replies, a notification, a stream.
///
/// A front makes one and every message of the exchange shares it, so whatever a layer leaves here the others
/// see: that is where the chain of an exchange, its reports and its deadline live.
#[derive(Default)]
pub struct Exchange {
    http: Option<HttpContext>,
    session: Option<Arc<str>>,
    principal: Option<Principal>,
    connection: Option<Arc<Connection>>,
    cancellation: Cancellation,
    #[cfg(any(feature = "http", feature = "stdio"))]
    left: AtomicBool,
    slots: Slots,
}

impl Exchange {
    /// An exchange of which nothing is known: in memory, or in a test.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the HTTP request that started it.
    #[must_use]
    pub fn with_http(mut self, http: HttpContext) -> Self {
        self.http = Some(http);
        self
    }

    /// Adds the session it belongs to.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Adds who sent it.
    #[must_use]
    pub fn with_principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Adds the connection on which it came.
    #[must_use]
    pub fn with_connection(mut self, connection: Arc<Connection>) -> Self {
        self.connection = Some(connection);
        self
    }

    /// The HTTP request that started it; `None` when it did not come over HTTP.
    #[must_use]
    pub fn http(&self) -> Option<&HttpContext> {
        self.http.as_ref()
    }

    /// The legacy session (`Mcp-Session-Id`) it belongs to.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Who sent it, where an authenticating layer left a [`Principal`].
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    /// The connection on which it came, where that means anything (stdio, memory).
    #[must_use]
    pub fn connection(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref()
    }

    /// Raised when the sender has cancelled the exchange.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// The sender has gone and reads nothing more, though the call runs on: what needs a reader goes elsewhere.
    #[cfg(feature = "http")]
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Whether nobody reads what comes for this exchange.
    #[cfg(feature = "stdio")]
    pub(crate) fn is_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    /// What layers share for the length of the exchange.
    #[must_use]
    pub fn slots(&self) -> &Slots {
        &self.slots
    }
}

impl fmt::Debug for Exchange {
    // Without headers, which hold credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field(
                "http",
                &self.http.as_ref().map(|http| (&http.method, http.uri.path())),
            )
            .field("session", &self.session.is_some())
            .field("principal", &self.principal)
            .field("cancelled", &self.cancellation.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// A connection that outlives one exchange: the two pipes of a stdio client, one end of a duplex.
///
/// Transports keep here what they know of their peer.
#[derive(Debug, Default)]
pub struct Connection {
    slots: Slots,
}

impl Connection {
    /// A new connection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What is kept for as long as the connection lasts.
    #[must_use]
    pub fn slots(&self) -> &Slots {
        &self.slots
    }
}

/// One value of each type, shared by all that hold the owner. Free until something is put in.
#[derive(Default)]
pub struct Slots(Mutex<Vec<(TypeId, Arc<dyn Any + Send + Sync>)>>);

impl Slots {
    /// The value of that type, if there is one.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        Arc::clone(&slot.1).downcast().ok()
    }

    /// The value of that type; the first caller makes it.
    ///
    /// # Panics
    ///
    /// When `make` uses the same slots: they are locked meanwhile.
    pub fn get_or_insert<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = slots
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())
            .map(|slot| Arc::clone(&slot.1));
        if let Some(found) = found.and_then(|found| found.downcast().ok()) {
            return found;
        }
        let new = make();
        slots.push((TypeId::of::<T>(), Arc::clone(&new) as _));
        new
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slots")
    }
}

/// A flag that is raised once, for good, and can be waited for.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    raised: AtomicBool,
    notify: Notify,
}

impl Cancellation {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
    }

    /// Whether it is raised.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }

    /// Completes when it is raised.
    pub async fn cancelled(&self) {
        // Registered before the look at the flag: a `cancel` between the two is not missed.
        let notified = self.0.notify.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn cancellation_wakes_those_that_wait_and_those_that_come_later() {
        let flag = Cancellation::new();
        let mut waiting = tokio_test::task::spawn(flag.cancelled());
        tokio_test::assert_pending!(waiting.poll());
        flag.cancel();
        tokio_test::assert_ready!(waiting.poll());
        flag.cancelled().await;
        assert!(flag.is_cancelled());
    }

    #[test]
    fn slots_hold_one_value_of_each_type() {
        let slots = Slots::default();
        assert!(slots.get::<u32>().is_none());
        assert_eq!(*slots.get_or_insert(|| Arc::new(1u32)), 1);
        assert_eq!(*slots.get_or_insert(|| Arc::new(2u32)), 1);
        assert_eq!(*slots.get_or_insert(|| Arc::new("text")), "text");
        assert_eq!(slots.get::<u32>().as_deref(), Some(&1));
    }
}
