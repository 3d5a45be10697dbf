//! What an answer answers.

use std::sync::Arc;

use super::{Era, Id, Message, Payload, event_hash};

/// The request that an answer belongs to: what a layer must know to judge the answer.
///
/// The name is copied, not sliced: a slice would keep the whole request in memory for as long as its answer
/// is awaited.
#[derive(Clone, Debug)]
pub struct Asked {
    method: Arc<str>,
    hash: u64,
    id: Option<Id>,
    era: Era,
    payload: Option<Payload>,
}

impl Asked {
    /// What `request` asked, without its payload. `None` for what is no request.
    #[must_use]
    pub fn of(request: &Message) -> Option<Self> {
        Some(Self::new(request.method()?, Some(request.id()?), request.era()))
    }

    /// A request known by its method, and its id where that is known.
    #[must_use]
    pub fn new(method: &str, id: Option<Id>, era: Era) -> Self {
        Self {
            method: method.into(),
            hash: event_hash(method.as_bytes()),
            id,
            era,
            payload: None,
        }
    }

    /// Keeps the request's payload too, for interceptors that want to see it with the answer.
    #[must_use]
    pub fn with_payload(mut self, payload: Payload) -> Self {
        self.payload = Some(payload);
        self
    }

    /// The method of the request: the event of its answer.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The id of the request, where it is known.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The era of the request, and so of its answer.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }

    /// The payload of the request, where it was kept.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        self.payload.as_ref()
    }

    pub(crate) fn method_hash(&self) -> u64 {
        self.hash
    }
}

/// Tells which request an answer answers that comes on a stream other than that of its call. An outermost layer
/// leaves it in the exchange of the stream for the layers inside.
pub(crate) struct AnswerNames(Box<NameAnswer>);

type NameAnswer = dyn Fn(&Message) -> Option<Arc<Asked>> + Send + Sync;

impl AnswerNames {
    pub(crate) fn new(name: impl Fn(&Message) -> Option<Arc<Asked>> + Send + Sync + 'static) -> Self {
        Self(Box::new(name))
    }

    pub(crate) fn of(&self, answer: &Message) -> Option<Arc<Asked>> {
        (self.0)(answer)
    }
}
