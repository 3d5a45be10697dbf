//! What an interceptor is asked.

use std::{fmt, sync::Arc};

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{InvocationContext, Phase};
use crate::message::{Cancellation, Exchange, Payload};

/// One question to one interceptor: SEP-2624's `interceptor/invoke`, in process or remote.
///
/// It is cheap to clone; the payload is shared by all interceptors that see it and parsed at most once.
#[derive(Clone)]
#[non_exhaustive]
pub struct Invocation {
    /// The interceptor's name.
    pub name: Arc<str>,
    /// The event: the method of the message, or of the request that it answers.
    pub event: Arc<str>,
    /// Whether it is about a request (or notification) or an answer.
    pub phase: Phase,
    /// What the message is about: `params`, `result` or `error`.
    pub payload: Payload,
    /// Whether the payload is the `error` of a JSON-RPC error answer. Only interceptors that ask for errors
    /// ever see one.
    pub is_error: bool,
    /// In the response phase, the request's payload, for interceptors that ask for it.
    pub request: Option<Payload>,
    /// How this deployment configures the interceptor.
    pub config: Option<Arc<RawValue>>,
    /// Who sent it, in which session, in which trace, when.
    pub context: Arc<InvocationContext>,
    /// When the answer is of no use any more.
    pub deadline: Option<Instant>,
    /// The exchange of the message: its HTTP headers, its principal, its connection. In process only.
    pub exchange: Arc<Exchange>,
}

impl Invocation {
    /// An invocation with a payload, for tests and for callers without a chain.
    pub fn new(
        name: impl Into<Arc<str>>,
        event: impl Into<Arc<str>>,
        phase: Phase,
        payload: Payload,
    ) -> Self {
        Self {
            name: name.into(),
            event: event.into(),
            phase,
            payload,
            is_error: false,
            request: None,
            config: None,
            context: Arc::default(),
            deadline: None,
            exchange: Arc::default(),
        }
    }

    /// Raised when the sender of the message has cancelled it. When the time is up or the caller has gone, the
    /// interceptor's future is dropped instead.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        self.exchange.cancellation()
    }
}

/// Without the payload, which may hold what must not be logged.
impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invocation")
            .field("name", &self.name)
            .field("event", &self.event)
            .field("phase", &self.phase)
            .field("payload", &self.payload)
            .finish_non_exhaustive()
    }
}
