//! The message itself.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    Asked, Deferred, Era, Exchange, Id, ParseError, Payload, PayloadError,
    envelope::{self, Envelope, Text},
    scan::Span,
};

/// How long a message may be unless a transport is told otherwise: 10 MiB.
pub const DEFAULT_MAX_BYTES: usize = 10 * 1024 * 1024;

/// What a [`Message`] is. There is no batch: a front takes one apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a policy must decide about every kind there is"
)]
pub enum Kind {
    /// Wants an answer.
    Request,
    /// Wants none.
    Notification,
    /// An answer with a result.
    Response,
    /// An answer with an error.
    Error,
    /// Asks for the messages that belong to no request. Carries no JSON.
    Listen,
    /// Says that a session or a connection is over. Carries no JSON.
    End,
}

/// One JSON-RPC message on its way. See the [module](crate::message) for what it keeps.
///
/// It is one pointer wide. Two are equal when their bytes are.
#[derive(Clone)]
pub struct Message(Box<Inner>);

#[derive(Clone)]
struct Inner {
    bytes: Bytes,
    envelope: Envelope,
    payload: OnceLock<Payload>,
    exchange: Arc<Exchange>,
    in_reply_to: Option<Arc<Asked>>,
    deferred: Option<Arc<Deferred>>,
    made_by_stack: bool,
    phase_deadline: Option<Instant>,
    arrival: u64,
    extensions: http::Extensions,
}

impl Message {
    /// Reads a message of at most [`DEFAULT_MAX_BYTES`].
    ///
    /// # Errors
    ///
    /// When the bytes are not one JSON-RPC message of MCP; the error knows the code and the id to answer with.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, ParseError> {
        Self::parse_within(bytes, DEFAULT_MAX_BYTES)
    }

    /// Reads a message of at most `limit` bytes (and never more than 4 GiB).
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_within(bytes: impl Into<Bytes>, limit: usize) -> Result<Self, ParseError> {
        let bytes = bytes.into();
        let limit = limit.min(u32::MAX as usize);
        if bytes.len() > limit {
            return Err(ParseError::too_large(limit));
        }
        let envelope = envelope::read(&bytes)?;
        Ok(Self::new(bytes, envelope))
    }

    pub(super) fn without_json(kind: Kind) -> Self {
        let envelope = Envelope {
            kind,
            id: None,
            method: None,
            method_hash: 0,
            payload: None,
            name: None,
            uri: None,
            progress_token: None,
            protocol_version: None,
            end: 0,
        };
        Self::new(Bytes::new(), envelope)
    }

    fn new(bytes: Bytes, envelope: Envelope) -> Self {
        Self(Box::new(Inner {
            bytes,
            envelope,
            payload: OnceLock::new(),
            exchange: Arc::new(Exchange::new()),
            in_reply_to: None,
            deferred: None,
            made_by_stack: false,
            phase_deadline: None,
            arrival: 0,
            extensions: http::Extensions::new(),
        }))
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.envelope.kind
    }

    /// The bytes as they are sent; empty for `Listen` and `End`.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The bytes as text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        std::str::from_utf8(&self.0.bytes).unwrap_or_default()
    }

    /// The bytes, without the rest.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0.bytes.clone()
    }

    /// The id; `None` for notifications, and for errors without one or with `null`.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        Id::from_json(self.span_text(self.0.envelope.id?))
    }

    /// The raw JSON of the id, where there is one, `null` included.
    pub(crate) fn raw_id(&self) -> Option<&str> {
        self.0.envelope.id.map(|span| self.span_text(span))
    }

    /// The decoded method of a request or notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.text(self.0.envelope.method.as_ref())
    }

    /// The decoded method, as bytes: comparing them costs no check for UTF-8.
    pub(crate) fn method_bytes(&self) -> &[u8] {
        self.0
            .envelope
            .method
            .as_ref()
            .map_or(&[], |method| method.bytes(&self.0.bytes))
    }

    pub(crate) fn method_hash(&self) -> u64 {
        self.0.envelope.method_hash
    }

    /// `params.name`, decoded: the tool or prompt. `None` where there is none and where it has no text (a lone
    /// surrogate).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.text(self.0.envelope.name.as_ref())
    }

    /// `params.uri`, decoded: the resource. `None` as for [`name`](Self::name).
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.text(self.0.envelope.uri.as_ref())
    }

    /// Whether it is a request with that method, however its method was written.
    #[must_use]
    pub fn is_request(&self, method: &str) -> bool {
        self.kind() == Kind::Request && self.method_bytes() == method.as_bytes()
    }

    /// The raw JSON of `params._meta.progressToken`.
    #[must_use]
    pub fn progress_token(&self) -> Option<&str> {
        self.0.envelope.progress_token.map(|span| self.span_text(span))
    }

    /// `params._meta["io.modelcontextprotocol/protocolVersion"]`, decoded: what makes a request modern.
    #[must_use]
    pub fn protocol_version(&self) -> Option<&str> {
        self.text(self.0.envelope.protocol_version.as_ref())
    }

    /// Which era the message itself speaks. Answers and notifications do not say; they count as legacy.
    #[must_use]
    pub fn era(&self) -> Era {
        if self.0.envelope.protocol_version.is_some() {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// What it is about: `params`, `result` or `error`. Never missing for the four kinds that carry JSON, also
    /// where `params` is left out; the empty object for `Listen` and `End`.
    #[must_use]
    pub fn payload(&self) -> &Payload {
        self.0.payload.get_or_init(|| match self.0.envelope.payload {
            Some(span) => Payload::new(self.0.bytes.slice(span.range()), true),
            None => Payload::absent(),
        })
    }

    /// The message with another payload; every byte outside of it stays. Where `params` was left out the
    /// member is added.
    ///
    /// # Errors
    ///
    /// When the result is no message any more: `params` that is no object, keys twice, too deep.
    pub fn with_payload(self, payload: &Payload) -> Result<Self, PayloadError> {
        if self.payload().same_text(payload) {
            return Ok(self);
        }
        let text = payload.as_json();
        match self.0.envelope.payload {
            Some(span) => self.spliced(&[(span, text)]),
            None => {
                let end = self.0.envelope.end;
                self.spliced(&[(Span { start: end, end }, &format!(",\"params\":{text}"))])
            }
        }
    }

    /// The message with another id: for links that carry the messages of many peers.
    ///
    /// # Errors
    ///
    /// When it has no id.
    pub fn with_id(self, id: &Id) -> Result<Self, PayloadError> {
        match self.0.envelope.id {
            Some(span) => self.spliced(&[(span, id.as_json())]),
            None => Err(PayloadError::Pointer("/id".into())),
        }
    }

    /// The message with another `params._meta.progressToken`, given as raw JSON.
    ///
    /// # Errors
    ///
    /// When it has none, or `token` is not JSON.
    pub fn with_progress_token(self, token: &str) -> Result<Self, PayloadError> {
        match self.0.envelope.progress_token {
            Some(span) => self.spliced(&[(span, token)]),
            None => Err(PayloadError::Pointer("/params/_meta/progressToken".into())),
        }
    }

    /// Replaces ranges, which must be in order, and reads the result anew: one pass is cheaper than a wrong
    /// offset.
    fn spliced(mut self, edits: &[(Span, &str)]) -> Result<Self, PayloadError> {
        let old = &self.0.bytes;
        let mut new = Vec::with_capacity(old.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
        let mut copied = 0;
        for (span, text) in edits {
            new.extend_from_slice(&old[copied..span.start as usize]);
            new.extend_from_slice(text.as_bytes());
            copied = span.end as usize;
        }
        new.extend_from_slice(&old[copied..]);
        let envelope =
            envelope::read(&new).map_err(|error| PayloadError::Decode(error.to_string().into()))?;
        if envelope.kind != self.0.envelope.kind {
            return Err(PayloadError::Decode(
                "an edit must not change the kind of a message".into(),
            ));
        }
        self.0.bytes = new.into();
        self.0.envelope = envelope;
        self.0.payload = OnceLock::new();
        Ok(self)
    }

    /// The circumstances in which it travels.
    #[must_use]
    pub fn exchange(&self) -> &Arc<Exchange> {
        &self.0.exchange
    }

    /// Puts it into an exchange. A front does this for what it receives.
    #[must_use]
    pub fn with_exchange(mut self, exchange: Arc<Exchange>) -> Self {
        self.0.exchange = exchange;
        self
    }

    /// The request that this message answers, where that is known.
    #[must_use]
    pub fn in_reply_to(&self) -> Option<&Arc<Asked>> {
        self.0.in_reply_to.as_ref()
    }

    /// Says which request it answers.
    #[must_use]
    pub fn with_in_reply_to(mut self, asked: Arc<Asked>) -> Self {
        self.0.in_reply_to = Some(asked);
        self
    }

    /// Whether a layer of the stack made it, as the reply to something it blocked. The phase layers further
    /// out pass such a reply untouched: it is not the backend's.
    #[must_use]
    pub fn is_made_by_stack(&self) -> bool {
        self.0.made_by_stack
    }

    /// Marks it as made by a layer of the stack.
    #[must_use]
    pub fn made_by_stack(mut self) -> Self {
        self.0.made_by_stack = true;
        self
    }

    /// Until when interceptors may hold it. The first layer that runs any on it says so for all.
    pub(crate) fn phase_deadline(&mut self, begin: impl FnOnce() -> Instant) -> Instant {
        *self.0.phase_deadline.get_or_insert_with(begin)
    }

    pub(crate) fn deferred(&self) -> Option<&Arc<Deferred>> {
        self.0.deferred.as_ref()
    }

    pub(crate) fn deferred_mut(&mut self) -> &Deferred {
        self.0.deferred.get_or_insert_with(Arc::default)
    }

    /// When it arrived, relative to everything else that arrived over a link of this process; 0 where nobody
    /// counted. A front that writes many replies to one pipe restores the order of the link by it.
    pub(crate) fn arrival(&self) -> u64 {
        self.0.arrival
    }

    #[cfg(feature = "stdio")]
    pub(crate) fn with_arrival(mut self, arrival: u64) -> Self {
        self.0.arrival = arrival;
        self
    }

    /// What users attach to this message.
    #[must_use]
    pub fn extensions(&self) -> &http::Extensions {
        &self.0.extensions
    }

    /// What users attach to this message, to change it.
    pub fn extensions_mut(&mut self) -> &mut http::Extensions {
        &mut self.0.extensions
    }

    fn span_text(&self, span: Span) -> &str {
        std::str::from_utf8(span.of(&self.0.bytes)).unwrap_or_default()
    }

    fn text<'a>(&'a self, text: Option<&'a Text>) -> Option<&'a str> {
        text.map(|text| text.get(&self.0.bytes))
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.bytes() == other.bytes()
    }
}

impl Eq for Message {}

/// Without the payload, which may hold what must not be logged. The method is escaped.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Message");
        debug.field("kind", &self.kind());
        if let Some(method) = self.method() {
            debug.field("method", &method);
        }
        if let Some(id) = self.id() {
            debug.field("id", &id);
        }
        debug.field("len", &self.0.bytes.len()).finish_non_exhaustive()
    }
}
