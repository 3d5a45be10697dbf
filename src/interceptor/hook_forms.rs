//! Reading hooks in every form they have had.

use serde::Deserialize;
use serde::de;
use serde_json::value::RawValue;

use super::members::Members;
use super::{EventPattern, Hook, Phase};

/// Takes the hooks out of a descriptor's members.
///
/// * newest: `hooks`, an array of `{events, phase}`;
/// * before: `hook`, one such object;
/// * oldest: `events` and `phase` beside the other members.
///
/// In each of them a phase may be absent or `both`, which becomes two hooks with the request first, and an
/// event may be `*/request` or `*/response`, which is `*` in that phase. When several forms are present the
/// newest counts and the others are dropped, so that they are not written again.
pub(super) fn take_hooks<E: de::Error>(members: &mut Members) -> Result<Vec<Hook>, E> {
    let newest = members.take("hooks");
    let single = members.take("hook");
    let flat = RawHook {
        events: members.take("events"),
        phase: members.take("phase"),
    };
    let raw_hooks = if let Some(raw) = newest {
        // One object in the place of the array is clear enough.
        match raw.get().starts_with('{') {
            true => vec![read(&raw, "hooks")?],
            false => read(&raw, "hooks")?,
        }
    } else if let Some(raw) = single {
        vec![read(&raw, "hook")?]
    } else if flat.events.is_some() {
        vec![flat]
    } else {
        return Err(E::missing_field("hooks"));
    };
    let mut hooks = Vec::with_capacity(raw_hooks.len());
    for raw in raw_hooks {
        raw.expand(&mut hooks)?;
    }
    Ok(hooks)
}

fn read<'a, T: Deserialize<'a>, E: de::Error>(raw: &'a RawValue, name: &str) -> Result<T, E> {
    serde_json::from_str(raw.get()).map_err(|e| E::custom(format_args!("`{name}`: {e}")))
}

#[derive(Deserialize)]
struct RawHook {
    events: Option<Box<RawValue>>,
    phase: Option<Box<RawValue>>,
}

impl RawHook {
    fn expand<E: de::Error>(&self, hooks: &mut Vec<Hook>) -> Result<(), E> {
        let events = self.events.as_deref().ok_or_else(|| E::missing_field("events"))?;
        let events: Vec<String> = read(events, "events")?;
        let phase: Option<String> = self.phase.as_deref().map(|p| read(p, "phase")).transpose()?;
        let phases: &[Phase] = match phase.as_deref() {
            None | Some("both") => &Phase::ALL,
            Some("request") => &[Phase::Request],
            Some("response") => &[Phase::Response],
            Some(other) => return Err(E::unknown_variant(other, &["request", "response", "both"])),
        };
        for phase in Phase::ALL {
            let mut wanted = Vec::new();
            for event in &events {
                let (pattern, fixed) = match event.as_str() {
                    "*/request" => ("*", Some(Phase::Request)),
                    "*/response" => ("*", Some(Phase::Response)),
                    other => (other, None),
                };
                if fixed.map_or_else(|| phases.contains(&phase), |fixed| fixed == phase) {
                    wanted.push(pattern.parse::<EventPattern>().map_err(E::custom)?);
                }
            }
            if !wanted.is_empty() || (events.is_empty() && phases.contains(&phase)) {
                hooks.push(Hook::new(phase, wanted));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hooks as they are written after reading.
    fn hooks(json: &str) -> String {
        let mut members: Members = serde_json::from_str(json).unwrap();
        let hooks = take_hooks::<serde_json::Error>(&mut members);
        match hooks {
            Ok(hooks) => {
                assert!(
                    members.is_empty(),
                    "an old form would be written again: {members:?}"
                );
                serde_json::to_string(&hooks).unwrap()
            }
            Err(error) => format!("error: {error}"),
        }
    }

    const BOTH: &str = r#"[{"events":["a","b"],"phase":"request"},{"events":["a","b"],"phase":"response"}]"#;

    #[test]
    fn all_four_forms_are_read() {
        let one = r#"[{"events":["tools/call"],"phase":"response"}]"#;
        for form in [
            r#"{"hooks":[{"events":["tools/call"],"phase":"response"}]}"#,
            r#"{"hooks":{"events":["tools/call"],"phase":"response"}}"#,
            r#"{"hook":{"events":["tools/call"],"phase":"response"}}"#,
            r#"{"events":["tools/call"],"phase":"response"}"#,
        ] {
            assert_eq!(hooks(form), one, "{form}");
        }
    }

    #[test]
    fn cs_081_both_and_an_absent_phase_become_two_hooks_request_first() {
        for form in [
            r#"{"hooks":[{"events":["a","b"],"phase":"both"}]}"#,
            r#"{"hook":{"events":["a","b"],"phase":"both"}}"#,
            r#"{"events":["a","b"],"phase":"both"}"#,
            r#"{"events":["a","b"]}"#,
            r#"{"events":["a","b"],"phase":null}"#,
            r#"{"hook":{"events":["a","b"]}}"#,
        ] {
            assert_eq!(hooks(form), BOTH, "{form}");
        }
    }

    #[test]
    fn phase_globs_become_a_star_in_that_phase() {
        for (form, written) in [
            (
                r#"{"events":["*/request"],"phase":"both"}"#,
                r#"[{"events":["*"],"phase":"request"}]"#,
            ),
            (
                r#"{"events":["*/response"]}"#,
                r#"[{"events":["*"],"phase":"response"}]"#,
            ),
            (
                r#"{"events":["*/response","a"],"phase":"request"}"#,
                r#"[{"events":["a"],"phase":"request"},{"events":["*"],"phase":"response"}]"#,
            ),
            (
                r#"{"events":["*/request","*/response"]}"#,
                r#"[{"events":["*"],"phase":"request"},{"events":["*"],"phase":"response"}]"#,
            ),
        ] {
            assert_eq!(hooks(form), written, "{form}");
        }
    }

    #[test]
    fn the_newest_form_counts() {
        assert_eq!(
            hooks(
                r#"{"hooks":[{"events":["new"],"phase":"request"}],"hook":{"events":["old"]},"events":["older"],"phase":"both"}"#
            ),
            r#"[{"events":["new"],"phase":"request"}]"#
        );
        assert_eq!(hooks(r#"{"hooks":[],"events":["older"]}"#), "[]");
    }

    #[test]
    fn empty_events_match_nothing_and_are_kept() {
        assert_eq!(
            hooks(r#"{"hooks":[{"events":[],"phase":"request"}]}"#),
            r#"[{"events":[],"phase":"request"}]"#
        );
    }

    #[test]
    fn what_cannot_be_understood_is_an_error() {
        for (form, says) in [
            ("{}", "missing field `hooks`"),
            (r#"{"phase":"request"}"#, "missing field `hooks`"),
            (r#"{"hooks":[{"phase":"request"}]}"#, "missing field `events`"),
            (r#"{"hooks":[{"events":["a"],"phase":"sometimes"}]}"#, "sometimes"),
            (r#"{"hooks":[{"events":"a","phase":"request"}]}"#, "events"),
            (
                r#"{"hooks":[{"events":["a*"],"phase":"request"}]}"#,
                "is no event",
            ),
            (r#"{"hooks":"a"}"#, "hooks"),
        ] {
            let error = hooks(form);
            assert!(
                error.starts_with("error: ") && error.contains(says),
                "{form}: {error}"
            );
        }
    }
}
