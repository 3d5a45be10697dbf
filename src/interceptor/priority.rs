//! The order of mutators.

use serde::de;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Phase;

/// Where among the mutators an interceptor wants to run (SEP-2624, `priorityHint`): lower runs first, 0 is the
/// default, ties go by name. It means nothing for validators and sinks.
///
/// The wire has two forms, a number for both phases or an object with one number per phase, and the form that
/// was read is the form that is written.
///
/// ```
/// use mcp_interceptors::interceptor::{Phase, PriorityHint};
///
/// let hint: PriorityHint = serde_json::from_str(r#"{"response":1000}"#)?;
/// assert_eq!(hint.resolve(Phase::Request), 0);
/// assert_eq!(hint.resolve(Phase::Response), 1000);
/// assert_eq!(serde_json::to_string(&hint)?, r#"{"response":1000}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The SEP recommends bands: up to -1,000,000 for critical security, up to -10,000 for sanitising, up to
/// -1,000 for normalising, up to -1 for content, from 1 for enrichment, from 1,000 for optimisation, from
/// 10,000 for late transforms, from 1,000,000 for finalising.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityHint(Form);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Number(i32),
    PerPhase {
        request: Option<i32>,
        response: Option<i32>,
    },
}

impl PriorityHint {
    /// One number for both phases.
    #[must_use]
    pub const fn number(priority: i32) -> Self {
        Self(Form::Number(priority))
    }

    /// A number per phase; a phase without one resolves to 0.
    #[must_use]
    pub const fn per_phase(request: Option<i32>, response: Option<i32>) -> Self {
        Self(Form::PerPhase { request, response })
    }

    /// The priority in a phase.
    #[must_use]
    pub const fn resolve(self, phase: Phase) -> i32 {
        match (self.0, phase) {
            (Form::Number(priority), _)
            | (
                Form::PerPhase {
                    request: Some(priority),
                    ..
                },
                Phase::Request,
            )
            | (
                Form::PerPhase {
                    response: Some(priority),
                    ..
                },
                Phase::Response,
            ) => priority,
            (Form::PerPhase { .. }, _) => 0,
        }
    }
}

impl From<i32> for PriorityHint {
    fn from(priority: i32) -> Self {
        Self::number(priority)
    }
}

impl Serialize for PriorityHint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Form::Number(priority) => serializer.serialize_i32(priority),
            Form::PerPhase { request, response } => {
                let mut map = serializer.serialize_map(None)?;
                if let Some(priority) = request {
                    map.serialize_entry("request", &priority)?;
                }
                if let Some(priority) = response {
                    map.serialize_entry("response", &priority)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for PriorityHint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Through `Value`: a visitor of our own would get numbers as maps in a program that turns on
        // serde_json's `arbitrary_precision`.
        let form = match Value::deserialize(deserializer)? {
            Value::Object(members) => {
                let phase = |phase: Phase| match members.get(phase.as_str()) {
                    None | Some(Value::Null) => Ok(None),
                    Some(value) => priority(value).map(Some),
                };
                Form::PerPhase {
                    request: phase(Phase::Request)?,
                    response: phase(Phase::Response)?,
                }
            }
            value => Form::Number(priority(&value)?),
        };
        Ok(Self(form))
    }
}

/// A whole number of 32 bits, however it is spelled.
fn priority<E: de::Error>(value: &Value) -> Result<i32, E> {
    let whole = value.as_i64().and_then(|number| i32::try_from(number).ok());
    let spelled_as_float = || {
        let number = value.as_f64()?;
        let fits = number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and in range, as just checked"
        )]
        fits.then_some(number as i32)
    };
    whole.or_else(spelled_as_float).ok_or_else(|| {
        E::custom(format_args!(
            "a priority must be an integer of 32 bits or an object with one per phase, not {value}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> PriorityHint {
        serde_json::from_str(json).unwrap()
    }

    fn rewrite(json: &str) -> String {
        serde_json::to_string(&read(json)).unwrap()
    }

    #[test]
    fn cs_085_a_number_is_read_and_rewritten_as_a_number() {
        assert_eq!(read("-5"), PriorityHint::number(-5));
        assert_eq!(rewrite("-5"), "-5");
    }

    #[test]
    fn cs_086_per_phase_priority_is_written_as_object() {
        let hint = PriorityHint::per_phase(Some(-50_000), Some(50_000));
        assert_eq!(
            serde_json::to_string(&hint).unwrap(),
            r#"{"request":-50000,"response":50000}"#
        );
    }

    #[test]
    fn cs_087_a_missing_phase_is_zero_and_stays_missing() {
        assert_eq!(read(r#"{"response":1000}"#).resolve(Phase::Request), 0);
        assert_eq!(rewrite(r#"{"response":1000}"#), r#"{"response":1000}"#);
    }

    #[test]
    fn cs_088_equal_values_stay_an_object() {
        assert_eq!(
            rewrite(r#"{"request":7,"response":7}"#),
            r#"{"request":7,"response":7}"#
        );
    }

    #[test]
    fn cs_089_unknown_keys_and_an_empty_object_are_tolerated() {
        for json in [r#"{"other":[1,{"request":3}],"request":null}"#, "{}"] {
            assert_eq!(Phase::ALL.map(|p| read(json).resolve(p)), [0, 0], "{json}");
            assert_eq!(rewrite(json), "{}");
        }
    }

    #[test]
    fn cs_090_a_string_is_a_parse_error() {
        for json in [
            r#""high""#,
            r#""5""#,
            "true",
            "[1]",
            r#"{"request":"high"}"#,
            r#"{"request":{}}"#,
        ] {
            assert!(serde_json::from_str::<PriorityHint>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn floats_with_a_whole_value_are_read_others_and_out_of_range_are_not() {
        for (json, priority) in [
            ("-500.0", -500),
            ("1e3", 1000),
            ("-0.0", 0),
            ("2147483647.0", i32::MAX),
            ("-2147483648", i32::MIN),
        ] {
            assert_eq!(read(json), PriorityHint::number(priority), "{json}");
        }
        assert_eq!(read(r#"{"request":-1000.0}"#).resolve(Phase::Request), -1000);
        for json in [
            "0.5",
            "2147483648",
            "-2147483649",
            "2147483648.0",
            "1e300",
            "18446744073709551615",
        ] {
            assert!(serde_json::from_str::<PriorityHint>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn py_050_to_057_ts_065_priority_matrix() {
        use Phase::{Request, Response};
        let both = PriorityHint::number(-500);
        assert_eq!((both.resolve(Request), both.resolve(Response)), (-500, -500));
        let split = PriorityHint::per_phase(Some(-1000), Some(1000));
        assert_eq!((split.resolve(Request), split.resolve(Response)), (-1000, 1000));
        let half = PriorityHint::per_phase(Some(5), None);
        assert_eq!((half.resolve(Request), half.resolve(Response)), (5, 0));
        let other = PriorityHint::per_phase(None, Some(5));
        assert_eq!((other.resolve(Request), other.resolve(Response)), (0, 5));
    }
}
