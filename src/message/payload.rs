//! What a message is about: `params`, `result` or `error`, as an interceptor sees it.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use serde::{Serialize, Serializer, de::DeserializeOwned, ser::Error as _};
use serde_json::{Value, value::RawValue};

use super::{
    edit::{self, Place},
    error::PayloadError,
    keys::{StrictError, check_unique},
    overlay::overlay,
    scan::{Scanner, Span},
    strict,
    view::View,
};

/// How deep a payload may nest for an interceptor to read it: serde_json's own limit.
pub(crate) const READ_DEPTH: usize = 127;

/// The payload of a message: `params` of a request or notification, `result` or `error` of an answer.
///
/// Every message of JSON-RPC has one; where `params` is left out it is the empty object, and writing it adds
/// the member. It is cheap to clone, is parsed at most once for all that read it, and is edited by splicing:
/// what an edit did not touch keeps every byte.
///
/// Reading refuses what two parsers could understand differently: an object with a key twice is an error.
///
/// ```
/// use mcp_interceptors::message::Payload;
///
/// let mut payload = Payload::from_json(r#"{"name":"pay","arguments":{"sum": 1.10,"to":"A"}}"#).unwrap();
/// payload.set("/arguments/to", &"B").unwrap();
/// payload.set("/arguments/note", &"x").unwrap();
/// assert_eq!(payload.as_json(), r#"{"name":"pay","arguments":{"sum": 1.10,"to":"B","note":"x"}}"#);
/// ```
#[derive(Clone)]
pub struct Payload(Arc<Inner>);

struct Inner {
    text: Bytes,
    present: bool,
    checked: OnceLock<Result<(), PayloadError>>,
    value: OnceLock<Result<Value, PayloadError>>,
}

impl Payload {
    pub(crate) fn new(text: Bytes, present: bool) -> Self {
        Self(Arc::new(Inner {
            text,
            present,
            checked: OnceLock::new(),
            value: OnceLock::new(),
        }))
    }

    /// The payload of a request without `params`.
    pub(crate) fn absent() -> Self {
        Self::new(Bytes::from_static(b"{}"), false)
    }

    /// Takes a JSON text.
    ///
    /// # Errors
    ///
    /// When it is not one JSON value.
    pub fn from_json(json: impl Into<String>) -> Result<Self, PayloadError> {
        let json = json.into();
        let mut scanner = Scanner::new(json.as_bytes());
        let span = scanner
            .value()
            .and_then(|span| scanner.end().map(|()| span))
            .map_err(|error| PayloadError::Decode(format!("not JSON: {error:?}").into()))?;
        Ok(Self::new(Bytes::from(json).slice(span.range()), true))
    }

    /// Takes a raw value.
    #[must_use]
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self::new(Box::<str>::from(raw).into_boxed_bytes().into(), true)
    }

    /// Serialises a value.
    ///
    /// # Errors
    ///
    /// When its `Serialize` fails, as it does for a map with keys that are no strings.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        Ok(Self::new(to_json(value)?.into(), true))
    }

    /// The JSON text, exactly as it came.
    #[must_use]
    pub fn as_json(&self) -> &str {
        std::str::from_utf8(&self.0.text).unwrap_or_default()
    }

    /// Whether the message really has it: `false` for a request or notification without `params`.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.0.present
    }

    /// Checks what every read checks first: no object has a key twice, and it is not too deep to read.
    ///
    /// # Errors
    ///
    /// [`PayloadError::DuplicateKey`] or [`PayloadError::TooDeep`].
    pub fn check(&self) -> Result<(), PayloadError> {
        let check = || {
            let text = &self.0.text;
            check_unique(text, Span::new(0, text.len()), READ_DEPTH).map_err(|error| match error {
                StrictError::DuplicateKey(key) => PayloadError::DuplicateKey(key),
                StrictError::TooDeep => PayloadError::TooDeep,
                StrictError::Scan(error) => PayloadError::Decode(format!("{error:?}").into()),
            })
        };
        self.0.checked.get_or_init(check).clone()
    }

    /// The whole payload in its raw form.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn view(&self) -> Result<View<'_>, PayloadError> {
        self.check()?;
        Ok(View::new(self.as_json()))
    }

    /// The value at a JSON Pointer (RFC 6901), in its raw form; `None` where there is none.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and for a malformed pointer.
    pub fn get(&self, pointer: &str) -> Result<Option<View<'_>>, PayloadError> {
        self.check()?;
        let text = self.as_json();
        Ok(match edit::find(text, pointer)? {
            Place::Found { value, .. } => Some(View::new(&text[value.range()])),
            Place::Free { .. } | Place::Nowhere => None,
        })
    }

    /// The value at a JSON Pointer, unchecked: for transports, which route by a member and judge nothing. They
    /// must not refuse what passes raw (duplicate keys somewhere deep, say).
    pub(crate) fn peek(&self, pointer: &str) -> Option<View<'_>> {
        let text = self.as_json();
        match edit::find(text, pointer) {
            Ok(Place::Found { value, .. }) => Some(View::new(&text[value.range()])),
            _ => None,
        }
    }

    /// The payload as a `serde_json::Value`, parsed once and shared. Numbers lose their spelling here; a rule
    /// about numbers reads a [`View`].
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and for what a `Value` cannot hold: lone surrogates, numbers beyond `f64`.
    pub fn value(&self) -> Result<&Value, PayloadError> {
        self.0
            .value
            .get_or_init(|| strict::value(self.as_json()))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Reads the payload into a type.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and when the payload is not of that type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        self.check()?;
        serde_json::from_str(self.as_json()).map_err(|error| decode_error(&error))
    }

    /// Puts a value at a JSON Pointer: over what is there, or as a new member or item (index or `-`).
    ///
    /// # Errors
    ///
    /// When the pointer's parent is not there, or the value does not serialise.
    pub fn set<T: Serialize + ?Sized>(&mut self, pointer: &str, value: &T) -> Result<(), PayloadError> {
        let json = to_json(value)?;
        let text = self.as_json();
        let new = match edit::find(text, pointer)? {
            Place::Found { value, .. } => edit::splice(text, value.range(), &[&json]),
            Place::Free { at, before } => edit::splice(text, at..at, &[&before, &json]),
            Place::Nowhere => return Err(PayloadError::Pointer(pointer.into())),
        };
        self.put(new);
        Ok(())
    }

    /// Puts a value over the one at a JSON Pointer, which must be there.
    ///
    /// # Errors
    ///
    /// When nothing is there, or the value does not serialise.
    pub fn replace<T: Serialize + ?Sized>(&mut self, pointer: &str, value: &T) -> Result<(), PayloadError> {
        match edit::find(self.as_json(), pointer)? {
            Place::Found { .. } => self.set(pointer, value),
            Place::Free { .. } | Place::Nowhere => Err(PayloadError::Pointer(pointer.into())),
        }
    }

    /// Removes the value at a JSON Pointer; `false` when nothing was there.
    ///
    /// # Errors
    ///
    /// For a malformed pointer, and for the empty one: a payload cannot be removed whole.
    pub fn remove(&mut self, pointer: &str) -> Result<bool, PayloadError> {
        if pointer.is_empty() {
            return Err(PayloadError::Pointer(pointer.into()));
        }
        let text = self.as_json();
        match edit::find(text, pointer)? {
            Place::Found { slot, .. } => {
                let new = edit::splice(text, slot, &[]);
                self.put(new);
                Ok(true)
            }
            Place::Free { .. } | Place::Nowhere => Ok(false),
        }
    }

    /// Replaces the whole payload.
    ///
    /// # Errors
    ///
    /// When the value does not serialise.
    pub fn replace_all<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), PayloadError> {
        self.put(to_json(value)?);
        Ok(())
    }

    /// Shows every string value, decoded, to `edit`, and puts in what it returns; keys are left alone. `true`
    /// when anything changed. For redactors: no string is missed, no other byte is touched.
    ///
    /// # Errors
    ///
    /// When a string cannot be shown because it holds a lone surrogate, or the payload is too deep to read.
    pub fn edit_strings(
        &mut self,
        mut edit: impl FnMut(&str) -> Option<String>,
    ) -> Result<bool, PayloadError> {
        self.check()?;
        let new = edit::edit_strings(self.as_json(), &mut edit)?;
        let changed = new.is_some();
        if let Some(new) = new {
            self.put(new);
        }
        Ok(changed)
    }

    /// This payload with the values of `answer`, another writing of it, wherever they differ.
    ///
    /// A mutator in another language hands back the whole payload as its JSON library writes it: `1.10` has
    /// become `1.1`, escapes and key order have changed. Laid over the original, only what differs as a value
    /// is replaced.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), for either of the two.
    pub fn overlaid_with(&self, answer: &Self) -> Result<Self, PayloadError> {
        self.check()?;
        answer.check()?;
        Ok(match overlay(self.as_json(), answer.as_json()) {
            Some(text) => Self::new(text.into(), true),
            None => self.clone(),
        })
    }

    /// A copy that shares no memory with the message. A slice would keep the whole message alive, so what
    /// outlives one (a queue) takes this.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Arc::new(Inner {
            text: Bytes::copy_from_slice(&self.0.text),
            present: self.0.present,
            checked: self.0.checked.clone(),
            value: OnceLock::new(),
        }))
    }

    /// Whether both are the same text.
    pub(crate) fn same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }

    fn put(&mut self, text: String) {
        *self = Self::new(text.into(), true);
    }
}

fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, PayloadError> {
    serde_json::to_string(value).map_err(|error| decode_error(&error))
}

fn decode_error(error: &serde_json::Error) -> PayloadError {
    // The error's own text may quote the payload; its place and kind are enough.
    PayloadError::Decode(
        format!(
            "{:?} error at line {} column {}",
            error.classify(),
            error.line(),
            error.column()
        )
        .into(),
    )
}

/// Writes the text as it is.
impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(self.as_json())
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.same_text(other)
    }
}

/// Without the text, which may hold what must not be logged.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("len", &self.0.text.len())
            .field("present", &self.0.present)
            .finish()
    }
}
