//! What kind of interceptor: validation, mutation, sink.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The type of an interceptor (SEP-2624, `InterceptorType`).
///
/// Reading takes the older name `observability` as [`Sink`](Self::Sink). A type this crate does not know is
/// kept by its name, so that one odd interceptor does not make a whole list unreadable; such an interceptor
/// cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InterceptorType {
    /// Judges a payload. Validators run side by side.
    Validation,
    /// Changes a payload. Mutators run one after the other, by priority.
    Mutation,
    /// Takes note of a payload and never blocks.
    Sink,
    /// Anything else, by its name.
    Unknown(Box<str>),
}

impl InterceptorType {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Validation => "validation",
            Self::Mutation => "mutation",
            Self::Sink => "sink",
            Self::Unknown(name) => name,
        }
    }

    /// The type with this name on the wire.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "validation" => Self::Validation,
            "mutation" => Self::Mutation,
            "sink" | "observability" => Self::Sink,
            other => Self::Unknown(other.into()),
        }
    }

    /// Whether this crate does not know the type.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

impl fmt::Display for InterceptorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for InterceptorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for InterceptorType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::from_name(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cs_080_type_strings_both_ways() {
        use InterceptorType::{Mutation, Sink, Validation};
        for (kind, json) in [
            (Validation, r#""validation""#),
            (Mutation, r#""mutation""#),
            (Sink, r#""sink""#),
        ] {
            assert_eq!(serde_json::to_string(&kind).unwrap(), json);
            assert_eq!(serde_json::from_str::<InterceptorType>(json).unwrap(), kind);
        }
    }

    #[test]
    fn ts_130_ts_132_older_and_unknown_types() {
        let read = |json| serde_json::from_str::<InterceptorType>(json);
        assert_eq!(read(r#""observability""#).unwrap(), InterceptorType::Sink);
        assert_eq!(
            serde_json::to_string(&read(r#""quota""#).unwrap()).unwrap(),
            r#""quota""#
        );
        assert!(read(r#""Validation""#).unwrap().is_unknown());
        assert!(read("1").is_err());
    }
}
