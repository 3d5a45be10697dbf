//! The protocol versions an interceptor is for.

use serde::{Deserialize, Serialize};

/// The protocol versions an interceptor was made for (SEP-2624, `compat`).
///
/// The SEP does not say what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Compat {
    /// The oldest version, for example `2024-11-05`.
    pub min_protocol: String,
    /// The newest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_protocol: Option<String>,
}

impl Compat {
    /// From a version on.
    #[must_use]
    pub fn since(min_protocol: impl Into<String>) -> Self {
        Self {
            min_protocol: min_protocol.into(),
            max_protocol: None,
        }
    }

    /// Up to a version.
    #[must_use]
    pub fn until(mut self, max_protocol: impl Into<String>) -> Self {
        self.max_protocol = Some(max_protocol.into());
        self
    }

    /// Whether a protocol version is within; versions are dates and compared as text.
    #[must_use]
    pub fn admits(&self, version: &str) -> bool {
        *self.min_protocol <= *version && self.max_protocol.as_deref().is_none_or(|max| version <= max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive() {
        let compat = Compat::since("2024-11-05").until("2025-12-31");
        assert_eq!(
            serde_json::to_string(&compat).unwrap(),
            r#"{"minProtocol":"2024-11-05","maxProtocol":"2025-12-31"}"#
        );
        for (version, admits) in [
            ("2024-11-05", true),
            ("2025-12-31", true),
            ("2024-11-04", false),
            ("2026-07-28", false),
        ] {
            assert_eq!(compat.admits(version), admits, "{version}");
        }
        assert!(Compat::since("2024-11-05").admits("2026-07-28"));
    }

    #[test]
    fn the_minimum_is_required() {
        assert!(serde_json::from_str::<Compat>(r#"{"maxProtocol":"2025-12-31"}"#).is_err());
    }
}
