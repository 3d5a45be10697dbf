//! Event names and the patterns that match them.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Whether an event is matched only by a hook that names it exactly.
///
/// `initialize`, `server/discover` and `ping` keep a connection going, and notifications are many: a `*` hook
/// that was written for requests must not catch them. They are events only for who asks for them by name.
#[must_use]
pub fn needs_exact_hook(event: &str) -> bool {
    matches!(event, "initialize" | "server/discover" | "ping") || event.starts_with("notifications/")
}

/// Which events a hook wants: one by its exact name, all of a namespace (`tools/*`), or all (`*`).
///
/// Names are compared as decoded text, byte for byte. The SEP's own matching is by exact name and `*`;
/// namespaces are the extension it allows. Neither `*` nor a namespace matches the events that
/// [`needs_exact_hook`] lists. A `*` in any other place is an error, because a hook that never matches would
/// look like protection.
///
/// ```
/// use mcp_interceptors::interceptor::EventPattern;
///
/// let pattern: EventPattern = "tools/*".parse()?;
/// assert!(pattern.matches("tools/call"));
/// assert!(!pattern.matches("prompts/get"));
/// assert!(EventPattern::any().matches("prompts/get"));
/// assert!(!EventPattern::any().matches("ping"));
/// assert!("to*ls".parse::<EventPattern>().is_err());
/// # Ok::<(), mcp_interceptors::interceptor::InvalidEventPattern>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventPattern {
    /// As written.
    text: Box<str>,
}

impl EventPattern {
    /// The pattern `*`.
    #[must_use]
    pub fn any() -> Self {
        Self { text: "*".into() }
    }

    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this is `*`.
    #[must_use]
    pub fn is_any(&self) -> bool {
        &*self.text == "*"
    }

    /// The event, if the pattern is an exact name.
    #[must_use]
    pub fn as_exact(&self) -> Option<&str> {
        (!self.text.ends_with('*')).then_some(&*self.text)
    }

    /// The namespace with its slash (`tools/` of `tools/*`), if the pattern is one.
    #[must_use]
    pub fn as_namespace(&self) -> Option<&str> {
        self.text.strip_suffix('*').filter(|prefix| !prefix.is_empty())
    }

    /// Whether the pattern matches an event.
    #[must_use]
    pub fn matches(&self, event: &str) -> bool {
        match self.text.strip_suffix('*') {
            None => *self.text == *event,
            Some(prefix) => {
                event.starts_with(prefix) && event.len() > prefix.len() && !needs_exact_hook(event)
            }
        }
    }

    /// Whether every event that `other` matches is matched by this pattern too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match other.as_exact() {
            Some(event) => self.matches(event),
            None => self
                .text
                .strip_suffix('*')
                .is_some_and(|prefix| other.text.starts_with(prefix)),
        }
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for EventPattern {
    type Err = InvalidEventPattern;

    fn from_str(text: &str) -> Result<Self, InvalidEventPattern> {
        let fixed = match text.strip_suffix('*') {
            Some(prefix) if prefix.is_empty() || (prefix.len() > 1 && prefix.ends_with('/')) => prefix,
            Some(_) => "*",
            None if text.is_empty() => "*",
            None => text,
        };
        if fixed.contains('*') {
            return Err(InvalidEventPattern { text: text.into() });
        }
        Ok(Self { text: text.into() })
    }
}

impl TryFrom<&str> for EventPattern {
    type Error = InvalidEventPattern;

    fn try_from(text: &str) -> Result<Self, InvalidEventPattern> {
        text.parse()
    }
}

impl Serialize for EventPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for EventPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A text that is no event pattern: empty, or with a `*` that is neither alone nor a namespace's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEventPattern {
    text: Box<str>,
}

impl fmt::Display for InvalidEventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no event: use a name, `namespace/*` or `*`", self.text)
    }
}

impl Error for InvalidEventPattern {}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> EventPattern {
        text.parse().unwrap()
    }

    #[test]
    fn py_058_py_061_ts_136_exact_names() {
        assert!(pattern("tools/call").matches("tools/call"));
        for other in ["tools/list", "tools/callx", "tools", "Tools/call", "", "*"] {
            assert!(!pattern("tools/call").matches(other), "{other}");
        }
    }

    #[test]
    fn py_059_ts_136_star_matches_every_request() {
        for event in [
            "tools/call",
            "llm/completion",
            "sampling/createMessage",
            "x",
            "server/other",
            "pings",
        ] {
            assert!(EventPattern::any().matches(event), "{event}");
        }
        assert!(!EventPattern::any().matches(""));
    }

    #[test]
    fn namespaces_match_what_is_under_them() {
        let tools = pattern("tools/*");
        assert!(tools.matches("tools/call") && tools.matches("tools/a/b"));
        for other in ["tools/", "tools", "toolsx/call", "prompts/get"] {
            assert!(!tools.matches(other), "{other}");
        }
    }

    #[test]
    fn exempt_events_are_matched_only_by_their_name() {
        for event in [
            "initialize",
            "server/discover",
            "ping",
            "notifications/progress",
            "notifications/x/y",
        ] {
            assert!(needs_exact_hook(event));
            assert!(pattern(event).matches(event));
            for glob in ["*", "server/*", "notifications/*"] {
                assert!(!pattern(glob).matches(event), "{glob} {event}");
            }
        }
        assert!(!needs_exact_hook("notifications"));
    }

    #[test]
    fn a_star_elsewhere_is_an_error() {
        for text in [
            "", "to*ls", "tools*", "*/call", "*/*", "**", "a/*/b", "/*", "a*/*",
        ] {
            let error = text.parse::<EventPattern>().unwrap_err();
            assert!(error.to_string().contains("is no event"), "{error}");
        }
        assert!(serde_json::from_str::<EventPattern>(r#""t*""#).is_err());
    }

    #[test]
    fn escaped_names_are_compared_decoded() {
        let read: EventPattern = serde_json::from_str(r#""tools\/c\u0061ll""#).unwrap();
        assert!(read.matches("tools/call"));
    }

    #[test]
    fn the_parts_tell_what_a_pattern_is() {
        assert_eq!(pattern("a/b").as_exact(), Some("a/b"));
        assert_eq!(pattern("a/*").as_namespace(), Some("a/"));
        assert_eq!(
            (pattern("*").as_namespace(), pattern("*").as_exact()),
            (None, None)
        );
        assert!(pattern("*").is_any() && !pattern("a/*").is_any());
    }

    #[test]
    fn covering_follows_matching() {
        for (wide, narrow, covers) in [
            ("*", "*", true),
            ("*", "tools/*", true),
            ("*", "tools/call", true),
            ("*", "ping", false),
            ("*", "notifications/progress", false),
            ("tools/*", "*", false),
            ("tools/*", "tools/*", true),
            ("tools/*", "tools/a/*", true),
            ("tools/*", "prompts/*", false),
            ("tools/*", "tools/call", true),
            ("tools/call", "tools/*", false),
            ("tools/call", "tools/call", true),
            ("tools/call", "*", false),
        ] {
            assert_eq!(pattern(wide).covers(&pattern(narrow)), covers, "{wide} {narrow}");
        }
    }
}
