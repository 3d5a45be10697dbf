//! Active or audit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether an interceptor's answer takes effect (SEP-2624, `mode`).
///
/// Reading takes the older name `enforce`, and an empty string, as [`Active`](Self::Active). Anything else is
/// an error: to guess could switch a guard off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Its verdict blocks and its changes are applied. The default, and never written.
    #[default]
    #[serde(alias = "enforce", alias = "")]
    Active,
    /// It runs beside the traffic: nothing it answers blocks, delays or changes a message.
    Audit,
}

impl Mode {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Audit => "audit",
        }
    }

    /// Whether this is [`Active`](Self::Active).
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cs_092_mode_strings_both_ways() {
        for (mode, json) in [(Mode::Active, r#""active""#), (Mode::Audit, r#""audit""#)] {
            assert_eq!(serde_json::to_string(&mode).unwrap(), json);
            assert_eq!(serde_json::from_str::<Mode>(json).unwrap(), mode);
        }
    }

    #[test]
    fn ts_064_ts_131_enforce_is_read_as_active() {
        for json in [r#""enforce""#, r#""""#] {
            assert_eq!(serde_json::from_str::<Mode>(json).unwrap(), Mode::Active);
        }
        for json in [r#""off""#, r#""on""#, r#""Audit""#, "true"] {
            assert!(serde_json::from_str::<Mode>(json).is_err(), "{json}");
        }
    }
}
