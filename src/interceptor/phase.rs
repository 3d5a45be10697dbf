//! Request or response.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which half of an exchange an interceptor looks at (SEP-2624, `InterceptorPhase`).
///
/// There is no "both": a descriptor that wants both phases has two hooks. Older descriptors say
/// `"phase":"both"`; [`Descriptor`](super::Descriptor) reads that as two hooks, the request first.
///
/// ```
/// use mcp_interceptors::interceptor::Phase;
///
/// assert_eq!(Phase::Request.to_string(), "request");
/// assert_eq!(serde_json::from_str::<Phase>(r#""response""#)?, Phase::Response);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The request, before it is processed.
    Request,
    /// The response, before it is delivered.
    Response,
}

impl Phase {
    /// Both phases, the request first.
    pub const ALL: [Self; 2] = [Self::Request, Self::Response];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cs_081_phase_strings() {
        for phase in Phase::ALL {
            let json = serde_json::to_string(&phase).unwrap();
            assert_eq!(json, format!("\"{phase}\""));
            assert_eq!(serde_json::from_str::<Phase>(&json).unwrap(), phase);
        }
        for other in [r#""both""#, r#""Request""#, r#""""#, "null", "1"] {
            assert!(serde_json::from_str::<Phase>(other).is_err(), "{other}");
        }
    }
}
