//! What an answer answers.

use std::sync::Arc;

use super::{Id, Message, Payload, event_hash};

/// The request that an answer belongs to: what a layer must know to judge the answer.
///
/// The name is copied, not sliced: a slice would keep the whole request in memory for as long as its answer
/// is awaited.
#[derive(Clone, Debug)]
pub struct Asked {
    method: Arc<str>,
    hash: u64,
    id: Option<Id>,
    payload: Option<Payload>,
}

impl Asked {
    /// What `request` asked, without its payload. `None` for what is no request.
    #[must_use]
    pub fn of(request: &Message) -> Option<Self> {
        let method = request.method()?;
        let id = request.id()?;
        Some(Self {
            method: method.into(),
            hash: request.method_hash(),
            id: Some(id),
            payload: None,
        })
    }

    /// A request known by its method alone.
    #[must_use]
    pub fn method_only(method: &str) -> Self {
        Self {
            method: method.into(),
            hash: event_hash(method.as_bytes()),
            id: None,
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

    /// The payload of the request, where it was kept.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        self.payload.as_ref()
    }

    pub(crate) fn method_hash(&self) -> u64 {
        self.hash
    }
}
