//! The members of a JSON object, kept raw and in order.

use std::fmt;

use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The members of a JSON object in the order they came, each value as its raw text.
///
/// This is where members land that this crate does not know, so that they leave as they came. Reading refuses
/// an object that names a member twice: two readers could disagree about it. Two `Members` are equal when they
/// have the same names and the same value texts in the same order.
///
/// It can be read from JSON only (text or a [`serde_json::Value`]).
#[derive(Clone, Debug, Default)]
pub struct Members {
    entries: Vec<(Box<str>, Box<RawValue>)>,
}

impl Members {
    /// No members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The value of the member `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.entries.iter().find(|(n, _)| &**n == name).map(|(_, v)| &**v)
    }

    /// All members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.entries.iter().map(|(n, v)| (&**n, &**v))
    }

    /// Sets a member and gives back the value it had. A new one goes to the end.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: Box<RawValue>) -> Option<Box<RawValue>> {
        let name = name.into();
        match self.entries.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                self.entries.push((name, value));
                None
            }
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.entries.iter().position(|(n, _)| &**n == name)?;
        Some(self.entries.remove(at).1)
    }

    /// Takes a member out; `null` counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.remove(name).filter(|raw| raw.get() != "null")
    }

    /// Takes a member out and reads it; `null` counts as absent.
    pub(super) fn take_as<T: DeserializeOwned, E: de::Error>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, E> {
        self.take(name)
            .map(|raw| serde_json::from_str(raw.get()))
            .transpose()
            .map_err(|e| E::custom(format_args!("`{name}`: {e}")))
    }

    /// As [`take_as`](Self::take_as), for a member that must be there.
    pub(super) fn need<T: DeserializeOwned, E: de::Error>(&mut self, name: &'static str) -> Result<T, E> {
        self.take_as(name)?.ok_or_else(|| E::missing_field(name))
    }

    /// Writes the members into an object that is being written.
    pub(super) fn write_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.iter()
            .try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .zip(other.iter())
                .all(|(a, b)| a.0 == b.0 && a.1.get() == b.1.get())
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        self.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<Box<str>, Box<RawValue>>()? {
                    entries.push(entry);
                }
                // Sorted, not a look-up per key: an object with very many keys must stay cheap.
                let mut names: Vec<&str> = entries.iter().map(|(n, _)| &**n).collect();
                names.sort_unstable();
                if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    return Err(de::Error::custom(format_args!(
                        "the member {:?} is there twice",
                        twice[0]
                    )));
                }
                Ok(Members { entries })
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// A value as raw text.
pub(super) fn raw(value: impl Into<Value>) -> Box<RawValue> {
    raw_of(&value.into())
}

/// As [`raw`], for this crate's own types: those whose writing cannot fail.
pub(super) fn raw_of<T: Serialize>(value: &T) -> Box<RawValue> {
    to_raw_value(value).expect("writing it cannot fail")
}

/// The text of a raw value, for comparing.
pub(super) fn text(value: Option<&RawValue>) -> Option<&str> {
    value.map(RawValue::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_texts_survive() {
        let json = r#"{"b":1.10,"a":[1e2, "\u00e9"],"B":null}"#;
        let members: Members = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&members).unwrap(), json);
        assert_eq!(members.get("b").unwrap().get(), "1.10");
        assert_eq!(members.len(), 3);
    }

    #[test]
    fn a_member_twice_is_refused_also_when_spelled_differently() {
        for json in [r#"{"a":1,"a":1}"#, r#"{"a":1,"b":2,"\u0061":3}"#] {
            let error = serde_json::from_str::<Members>(json).unwrap_err();
            assert!(error.to_string().contains("twice"), "{error}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["[]", "1", "null", "\"a\""] {
            assert!(serde_json::from_str::<Members>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn insert_replaces_in_place_and_remove_takes_out() {
        let mut members: Members = serde_json::from_str(r#"{"a":1,"b":2}"#).unwrap();
        assert_eq!(members.insert("a", raw(7)).unwrap().get(), "1");
        assert!(members.insert("c", raw("x")).is_none());
        assert_eq!(
            serde_json::to_string(&members).unwrap(),
            r#"{"a":7,"b":2,"c":"x"}"#
        );
        assert_eq!(members.remove("b").unwrap().get(), "2");
        assert!(members.remove("b").is_none());
    }

    #[test]
    fn equality_is_by_name_text_and_order() {
        let read = |json| serde_json::from_str::<Members>(json).unwrap();
        assert_eq!(read(r#"{"a":1}"#), read(r#"{ "a" : 1 }"#));
        assert_ne!(read(r#"{"a":1}"#), read(r#"{"a":1.0}"#));
        assert_ne!(read(r#"{"a":1,"b":2}"#), read(r#"{"b":2,"a":1}"#));
    }

    #[test]
    fn reads_from_a_value_too() {
        let members: Members = serde_json::from_value(serde_json::json!({"a": {"b": 1}})).unwrap();
        assert_eq!(members.get("a").unwrap().get(), r#"{"b":1}"#);
    }
}
