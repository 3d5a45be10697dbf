//! When an interceptor runs.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EventPattern, InvalidEventPattern, Phase};

/// Events and the phase in which an interceptor wants to see them (SEP-2624, `hooks`).
///
/// An interceptor for both phases has two hooks. A hook without events matches nothing.
///
/// ```
/// use mcp_interceptors::interceptor::{Hook, Phase};
///
/// let hook = Hook::parse(Phase::Request, ["tools/call", "prompts/*"])?;
/// assert!(hook.matches("prompts/get", Phase::Request));
/// assert!(!hook.matches("prompts/get", Phase::Response));
/// # Ok::<(), mcp_interceptors::interceptor::InvalidEventPattern>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hook {
    /// The events.
    pub events: Vec<EventPattern>,
    /// The phase.
    pub phase: Phase,
}

impl Hook {
    /// A hook from patterns.
    #[must_use]
    pub fn new(phase: Phase, events: impl IntoIterator<Item = EventPattern>) -> Self {
        Self {
            events: events.into_iter().collect(),
            phase,
        }
    }

    /// A hook from texts: names, `namespace/*` or `*`.
    ///
    /// # Errors
    /// When one of them is no event pattern.
    pub fn parse<'a>(
        phase: Phase,
        events: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidEventPattern> {
        let events = events.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { events, phase })
    }

    /// A hook for every event of a phase.
    #[must_use]
    pub fn all(phase: Phase) -> Self {
        Self::new(phase, [EventPattern::any()])
    }

    /// Whether the hook matches an event in a phase.
    #[must_use]
    pub fn matches(&self, event: &str, phase: Phase) -> bool {
        self.phase == phase && self.events.iter().any(|pattern| pattern.matches(event))
    }

    /// Checks that `wanted` hooks stay within the `declared` ones.
    ///
    /// A deployment may narrow what an interceptor hooks but never widen it (SEP-2624, `overrides.hooks`):
    /// every event pattern wanted in a phase must be covered by a pattern that is declared for that phase. So
    /// `*` may only be wanted where `*` is declared.
    ///
    /// # Errors
    /// The first pattern that goes beyond what is declared.
    pub fn check_narrows(declared: &[Self], wanted: &[Self]) -> Result<(), WideningHook> {
        for hook in wanted {
            let covered = |event: &EventPattern| {
                let mut same_phase = declared.iter().filter(|d| d.phase == hook.phase);
                same_phase.any(|d| d.events.iter().any(|pattern| pattern.covers(event)))
            };
            if let Some(event) = hook.events.iter().find(|event| !covered(event)) {
                return Err(WideningHook {
                    event: event.clone(),
                    phase: hook.phase,
                });
            }
        }
        Ok(())
    }
}

/// An override that hooks more than the interceptor declares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WideningHook {
    /// The pattern that is not declared.
    pub event: EventPattern,
    /// The phase it is wanted in.
    pub phase: Phase,
}

impl fmt::Display for WideningHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (event, phase) = (self.event.as_str(), self.phase);
        write!(
            f,
            "the override widens the declared hooks: {event:?} in the {phase} phase is not declared"
        )
    }
}

impl Error for WideningHook {}

#[cfg(test)]
mod tests {
    use super::*;
    use Phase::{Request, Response};

    fn hooks(all: &[(Phase, &[&str])]) -> Vec<Hook> {
        all.iter()
            .map(|(phase, events)| Hook::parse(*phase, events.iter().copied()).unwrap())
            .collect()
    }

    #[test]
    fn py_058_a_literal_event_matches() {
        assert!(
            Hook::parse(Request, ["tools/call"])
                .unwrap()
                .matches("tools/call", Request)
        );
    }

    #[test]
    fn py_059_the_wildcard_matches() {
        assert!(Hook::all(Response).matches("llm/completion", Response));
    }

    #[test]
    fn py_060_another_phase_does_not_match() {
        assert!(
            !Hook::parse(Request, ["tools/call"])
                .unwrap()
                .matches("tools/call", Response)
        );
        assert!(!Hook::all(Request).matches("tools/call", Response));
    }

    #[test]
    fn py_061_another_event_does_not_match() {
        assert!(
            !Hook::parse(Request, ["tools/call"])
                .unwrap()
                .matches("tools/list", Request)
        );
        assert!(!Hook::new(Request, []).matches("tools/call", Request));
    }

    #[test]
    fn py_063_narrowing_is_ok() {
        let declared = hooks(&[
            (Request, &["tools/call", "prompts/get"]),
            (Response, &["tools/call"]),
        ]);
        for wanted in [
            hooks(&[(Request, &["tools/call"])]),
            hooks(&[(Request, &["prompts/get", "tools/call"])]),
            hooks(&[(Response, &["tools/call"]), (Request, &["prompts/get"])]),
            vec![],
        ] {
            assert_eq!(Hook::check_narrows(&declared, &wanted), Ok(()), "{wanted:?}");
        }
    }

    #[test]
    fn py_064_a_wider_event_is_rejected() {
        let declared = hooks(&[(Request, &["tools/call"])]);
        let error = Hook::check_narrows(&declared, &hooks(&[(Request, &["tools/call", "tools/list"])]));
        let error = error.unwrap_err();
        assert_eq!((error.event.as_str(), error.phase), ("tools/list", Request));
        assert_eq!(
            error.to_string(),
            r#"the override widens the declared hooks: "tools/list" in the request phase is not declared"#
        );
    }

    #[test]
    fn py_065_a_wider_phase_is_rejected() {
        let declared = hooks(&[(Request, &["tools/call"])]);
        let error = Hook::check_narrows(&declared, &hooks(&[(Response, &["tools/call"])])).unwrap_err();
        assert_eq!(error.phase, Response);
    }

    #[test]
    fn py_066_a_star_override_needs_a_declared_star() {
        let star = hooks(&[(Request, &["*"])]);
        assert_eq!(Hook::check_narrows(&star, &star), Ok(()));
        for declared in [
            hooks(&[(Request, &["tools/*"])]),
            hooks(&[(Response, &["*"])]),
            vec![],
        ] {
            assert!(Hook::check_narrows(&declared, &star).is_err(), "{declared:?}");
        }
    }

    #[test]
    fn py_067_narrowing_below_a_declared_star_is_ok() {
        let declared = hooks(&[(Request, &["*"])]);
        assert_eq!(
            Hook::check_narrows(&declared, &hooks(&[(Request, &["tools/call", "a/*"])])),
            Ok(())
        );
        let exempt = hooks(&[(Request, &["notifications/progress"])]);
        assert!(
            Hook::check_narrows(&declared, &exempt).is_err(),
            "a star does not cover it"
        );
    }

    #[test]
    fn a_hook_is_read_strictly() {
        let json = r#"{"events":["tools/call"],"phase":"request"}"#;
        let hook: Hook = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&hook).unwrap(), json);
        for json in [
            r#"{"events":["a"]}"#,
            r#"{"phase":"request"}"#,
            r#"{"events":["a"],"phase":"both"}"#,
        ] {
            assert!(serde_json::from_str::<Hook>(json).is_err(), "{json}");
        }
    }
}
