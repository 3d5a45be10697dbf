//! What a layer remembers of a request while its reply is awaited.

use std::sync::Arc;

use super::{Asked, Era, Id, Kind, Message, Payload};

/// The request a reply belongs to. Kept without an allocation where method and id are short, as they are: this
/// is made for each request, also for those that nobody hooks.
#[derive(Debug)]
pub(crate) struct Origin {
    method: Short,
    hash: u64,
    id: Short,
    era: Era,
    /// Kept where an interceptor wants to see it with the answer.
    request: Option<Payload>,
}

impl Origin {
    pub(crate) fn of(message: &Message) -> Option<Self> {
        if message.kind() != Kind::Request {
            return None;
        }
        Some(Self {
            method: Short::new(message.method_bytes()),
            hash: message.method_hash(),
            id: Short::new(message.raw_id()?.as_bytes()),
            era: message.era(),
            request: None,
        })
    }

    pub(crate) fn keep_request(&mut self, message: &Message) {
        self.request = Some(message.payload().detached());
    }

    pub(crate) fn request(&self) -> Option<&Payload> {
        self.request.as_ref()
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn method(&self) -> &[u8] {
        self.method.get()
    }

    /// Whether an answer is to this request. An error may leave the id out.
    pub(crate) fn is_answered_by(&self, answer: &Message) -> bool {
        match answer.raw_id() {
            None | Some("null") => answer.kind() == Kind::Error,
            Some(id) if id.as_bytes() == self.id.get() => true,
            Some(id) => {
                let own = self.id();
                own.is_some() && own == Id::from_json(id)
            }
        }
    }

    pub(crate) fn id(&self) -> Option<Id> {
        Id::from_json(std::str::from_utf8(self.id.get()).ok()?)
    }

    pub(crate) fn to_asked(&self) -> Arc<Asked> {
        let method = std::str::from_utf8(self.method.get()).unwrap_or_default();
        let asked = Asked::new(method, self.id(), self.era);
        Arc::new(match &self.request {
            Some(request) => asked.with_payload(request.clone()),
            None => asked,
        })
    }
}

const INLINE: usize = 46;

#[derive(Debug)]
enum Short {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

impl Short {
    fn new(text: &[u8]) -> Self {
        match u8::try_from(text.len()) {
            Ok(len) if text.len() <= INLINE => {
                let mut bytes = [0; INLINE];
                bytes[..text.len()].copy_from_slice(text);
                Self::Inline { len, bytes }
            }
            _ => Self::Heap(text.into()),
        }
    }

    fn get(&self) -> &[u8] {
        match self {
            Self::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Self::Heap(text) => text,
        }
    }
}
