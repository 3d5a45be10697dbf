//! Reading JSON where it stands: a value as raw text, without parsing what nobody asks for.

use std::borrow::Cow;

use super::{
    scan::{ScanError, Scanner, Span},
    text::{decode_inner, unescape},
};

/// One JSON value inside a payload, as its raw text.
///
/// A view shows what is sent: `1.10` is `1.10` and not `1.1`, and an integer beyond 2^53 has all its digits.
///
/// ```
/// use mcp_interceptors::message::Payload;
///
/// let payload = Payload::from_json(r#"{"arguments":{"amount":9007199254740993.0}}"#).unwrap();
/// let amount = payload.get("/arguments/amount").unwrap().unwrap();
/// assert_eq!(amount.number(), Some("9007199254740993.0"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    raw: &'a str,
}

/// What kind of value a [`View`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// a number
    Number,
    /// a string
    String,
    /// an array
    Array,
    /// an object
    Object,
}

impl<'a> View<'a> {
    /// `raw` must be one valid JSON value without blanks around it.
    pub(crate) fn new(raw: &'a str) -> Self {
        Self { raw }
    }

    fn part(self, span: Span) -> Self {
        Self {
            raw: &self.raw[span.range()],
        }
    }

    /// The value's JSON text, as it is sent.
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// What kind of value it is.
    #[must_use]
    pub fn kind(self) -> JsonKind {
        match self.raw.as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') | None => JsonKind::Null,
            Some(_) => JsonKind::Number,
        }
    }

    /// The text of a string. `None` for another kind, and for a string with a lone surrogate, which has no
    /// text; a rule that must not miss one compares [`kind`](Self::kind).
    #[must_use]
    pub fn string(self) -> Option<Cow<'a, str>> {
        match self.kind() {
            JsonKind::String => decode_inner(&self.raw.as_bytes()[1..self.raw.len() - 1]),
            _ => None,
        }
    }

    /// The digits of a number as they stand; `None` for another kind.
    #[must_use]
    pub fn number(self) -> Option<&'a str> {
        (self.kind() == JsonKind::Number).then_some(self.raw)
    }

    /// The value of a boolean; `None` for another kind.
    #[must_use]
    pub fn bool(self) -> Option<bool> {
        match self.raw {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The member of an object; `None` for another kind, and where there is none.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.members()
            .find(|(name, _)| *name == key)
            .map(|(_, view)| view)
    }

    /// The members of an object in their order; none for another kind. A key with a lone surrogate shows it
    /// as U+FFFD.
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        let mut members = Vec::new();
        if self.kind() == JsonKind::Object {
            let bytes = self.raw.as_bytes();
            // The text was validated when the message came in: a walk over it cannot fail.
            let _ = Scanner::new(bytes).object(|scanner, key| {
                let name = match unescape(key.inner(bytes)) {
                    Cow::Borrowed(plain) => String::from_utf8_lossy(plain),
                    Cow::Owned(decoded) => Cow::Owned(String::from_utf8_lossy(&decoded).into_owned()),
                };
                members.push((name, self.part(scanner.value()?)));
                Ok::<_, ScanError>(())
            });
        }
        members.into_iter()
    }

    /// The items of an array; none for another kind.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let mut items = Vec::new();
        if self.kind() == JsonKind::Array {
            let _ = Scanner::new(self.raw.as_bytes()).array(|scanner, _| {
                items.push(self.part(scanner.value()?));
                Ok::<_, ScanError>(())
            });
        }
        items.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_every_kind_in_its_raw_form() {
        let view =
            View::new(r#"{"n": 1.10, "s":"a\/b", "b":true, "z":null, "a":[1, {"x":2}], "l":"\ud800"}"#);
        assert_eq!(view.get("n").unwrap().number(), Some("1.10"));
        assert_eq!(view.get("s").unwrap().string().unwrap(), "a/b");
        assert_eq!(view.get("b").unwrap().bool(), Some(true));
        assert_eq!(view.get("z").unwrap().kind(), JsonKind::Null);
        assert_eq!(view.get("l").unwrap().string(), None);
        assert_eq!(view.get("l").unwrap().kind(), JsonKind::String);
        let items: Vec<_> = view.get("a").unwrap().items().map(View::raw).collect();
        assert_eq!(items, ["1", r#"{"x":2}"#]);
        assert_eq!(view.get("missing"), None);
        assert_eq!(view.get("n").unwrap().get("x"), None);
    }
}
