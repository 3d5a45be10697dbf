//! The id of a request, as it was written.

use std::{
    borrow::Cow,
    fmt,
    hash::{Hash, Hasher},
};

use super::{scan::Scanner, text::unescape};

/// A JSON-RPC id: a string or a number, kept in its exact spelling.
///
/// Two ids are equal when they mean the same: `1` and `1.0` are, `1` and `"1"` are not, `"A"` and
/// `"\u0041"` are. The spelling is kept all the same, since an answer must carry the id as it was sent.
/// JSON-RPC's `null`, and booleans, arrays and objects, are no ids in MCP.
///
/// ```
/// use mcp_interceptors::message::Id;
///
/// let id = Id::from_json("1.0").unwrap();
/// assert_eq!(id, Id::from(1));
/// assert_eq!(id.as_json(), "1.0");
/// assert!(Id::from_json("null").is_none());
/// ```
#[derive(Clone)]
pub struct Id {
    json: Box<str>,
    meaning: Meaning,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Meaning {
    /// The common case, which needs no second allocation.
    Integer(i64),
    /// Significant digits without zeros at either end, and the power of ten of the last one.
    Number {
        negative: bool,
        digits: Box<[u8]>,
        exponent: i64,
    },
    /// Decoded, lone surrogates in their three-byte form.
    Text(Box<[u8]>),
}

impl Id {
    /// Reads an id from its JSON; `None` when the text is not a JSON string or number.
    #[must_use]
    pub fn from_json(json: &str) -> Option<Self> {
        let json = json.trim_matches([' ', '\t', '\r', '\n']);
        let mut scanner = Scanner::new(json.as_bytes());
        scanner.value().ok()?;
        scanner.end().ok()?;
        let meaning = match json.as_bytes()[0] {
            b'"' => Meaning::Text(unescape(&json.as_bytes()[1..json.len() - 1]).into()),
            b'-' | b'0'..=b'9' => number(json)?,
            _ => return None,
        };
        Some(Self {
            json: json.into(),
            meaning,
        })
    }

    /// The id in the spelling in which it arrived.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.json
    }
}

/// Whether two JSON numbers have the same value.
pub(crate) fn same_number(one: &str, other: &str) -> bool {
    one == other || matches!((number(one), number(other)), (Some(one), Some(other)) if one == other)
}

/// `None` only for an exponent so large that it could not be compared.
fn number(json: &str) -> Option<Meaning> {
    if let Ok(integer) = json.parse::<i64>() {
        return Some(Meaning::Integer(integer));
    }
    let (negative, rest) = json.strip_prefix('-').map_or((false, json), |rest| (true, rest));
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let last = all.iter().rposition(|digit| *digit != b'0');
    let Some(last) = last else {
        return Some(Meaning::Integer(0));
    };
    let first = all.iter().position(|digit| *digit != b'0').unwrap_or(0);
    let dropped = i64::try_from(all.len() - 1 - last).ok()?;
    let exponent = exponent
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(dropped)?;
    let digits = &all[first..=last];
    Some(small_integer(negative, digits, exponent).map_or_else(
        || Meaning::Number {
            negative,
            digits: digits.into(),
            exponent,
        },
        Meaning::Integer,
    ))
}

/// The value where it is an integer that fits, so that `1`, `1.0` and `10e-1` have one form.
fn small_integer(negative: bool, digits: &[u8], exponent: i64) -> Option<i64> {
    let power = 10i64.checked_pow(u32::try_from(exponent).ok()?)?;
    let mut value = 0i64;
    for digit in digits {
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    value.checked_mul(if negative { -power } else { power })
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.meaning == other.meaning
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning.hash(state);
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self {
            json: number.to_string().into(),
            meaning: Meaning::Integer(number),
        }
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        // Writing a string as JSON cannot fail; the fallback keeps this total.
        let json = serde_json::to_string(text).unwrap_or_else(|_| "\"\"".into());
        Self {
            json: json.into(),
            meaning: Meaning::Text(text.as_bytes().into()),
        }
    }
}

/// The JSON spelling, with control characters escaped as JSON does, so that it is safe in a log line.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.json)
    }
}

impl From<Id> for Cow<'static, str> {
    fn from(id: Id) -> Self {
        Cow::Owned(id.json.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(json: &str) -> Id {
        Id::from_json(json).unwrap_or_else(|| panic!("{json} is an id"))
    }

    /// Case 10: ids beyond 2^53 keep their exact spelling.
    #[test]
    fn any_spelling_survives() {
        for json in [
            "18446744073709551615",
            "9007199254740993",
            "-5",
            "1.5",
            "1e3",
            "-0",
            "\"\\u0041\"",
            "\"\"",
        ] {
            assert_eq!(id(json).as_json(), json);
        }
    }

    #[test]
    fn equal_numbers_are_the_same_id() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("1000", "1e3"),
            ("-0", "0"),
            ("0", "0.00e7"),
            ("1.5", "15E-1"),
            ("18446744073709551615", "18446744073709551615.0"),
            ("1e400", "10e399"),
            ("\"A\"", "\"\\u0041\""),
        ] {
            assert_eq!(id(one), id(other), "{one} {other}");
        }
    }

    #[test]
    fn different_ids_differ() {
        for (one, other) in [
            ("1", "\"1\""),
            ("1", "-1"),
            ("9007199254740992", "9007199254740993"),
            ("1.5", "1.50001"),
            ("1e400", "1e401"),
            ("0", "\"0\""),
        ] {
            assert_ne!(id(one), id(other), "{one} {other}");
        }
    }

    #[test]
    fn everything_else_is_no_id() {
        for json in [
            "null",
            "true",
            "[]",
            "{}",
            "",
            "1 2",
            "01",
            "\"",
            "1e99999999999999999999",
        ] {
            assert_eq!(Id::from_json(json).map(|id| id.to_string()), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn integers_are_equal_to_their_decimal_forms(number: i64, zeros in 0usize..4) {
            let spelled = format!("{number}.0{}", "0".repeat(zeros));
            prop_assert_eq!(id(&spelled), Id::from(number));
        }
    }
}
