//! Refusal of duplicate keys.
//!
//! Of two equal keys one parser reads the first and another the last: a rule and the backend behind it would
//! see different messages.

use std::{borrow::Cow, collections::HashSet};

use super::{
    scan::{ScanError, Scanner, Span, StringToken},
    text::unescape,
};

const FEW: usize = 12;

/// The keys of one object. A dozen plain ones are compared in place; more of them, or escaped ones, hash.
#[derive(Debug, Default)]
pub(crate) struct Keys<'a> {
    few: [&'a [u8]; FEW],
    len: usize,
    many: Option<HashSet<Cow<'a, [u8]>>>,
}

impl<'a> Keys<'a> {
    /// Takes the key; `false` when it was there already.
    pub(crate) fn insert(&mut self, token: StringToken, bytes: &'a [u8]) -> bool {
        let inner = token.inner(bytes);
        if let Some(many) = &mut self.many {
            return many.insert(unescape(inner));
        }
        if token.escaped || self.len == FEW {
            let mut many: HashSet<_> = self.few[..self.len]
                .iter()
                .map(|key| Cow::Borrowed(*key))
                .collect();
            let new = many.insert(unescape(inner));
            self.many = Some(many);
            return new;
        }
        if self.few[..self.len].contains(&inner) {
            return false;
        }
        self.few[self.len] = inner;
        self.len += 1;
        true
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StrictError {
    Scan(ScanError),
    DuplicateKey(Box<str>),
    TooDeep,
}

impl From<ScanError> for StrictError {
    fn from(error: ScanError) -> Self {
        Self::Scan(error)
    }
}

/// Checks that no object of a value has a key twice, at any depth up to `depth`.
pub(crate) fn check_unique(bytes: &[u8], span: Span, depth: usize) -> Result<(), StrictError> {
    check(&mut Scanner::at(bytes, span.start as usize), bytes, depth)
}

fn check(scanner: &mut Scanner<'_>, bytes: &[u8], depth: usize) -> Result<(), StrictError> {
    let first = scanner.peek()?;
    if !matches!(first, b'{' | b'[') {
        scanner.value()?;
        return Ok(());
    }
    let below = depth.checked_sub(1).ok_or(StrictError::TooDeep)?;
    if first == b'{' {
        let mut keys = Keys::default();
        scanner.object(|scanner, key| {
            if !keys.insert(key, bytes) {
                let name = String::from_utf8_lossy(&unescape(key.inner(bytes))).into();
                return Err(StrictError::DuplicateKey(name));
            }
            check(scanner, bytes, below)
        })?;
    } else {
        scanner.array(|scanner, _| check(scanner, bytes, below))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unique(text: &str) -> Result<(), StrictError> {
        check_unique(text.as_bytes(), Span::new(0, text.len()), 128)
    }

    #[test]
    fn finds_duplicates_at_any_depth_and_in_any_spelling() {
        assert_eq!(unique(r#"{"a":1,"b":[{"a":1},{"a":2}]}"#), Ok(()));
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"[{"x":{"a":1,"a":1}}]"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"\ud800":1,"\uD800":2}"#,
        ] {
            assert!(
                matches!(unique(text), Err(StrictError::DuplicateKey(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn finds_a_duplicate_among_many_keys() {
        let members: Vec<_> = (0..40).map(|n| format!("\"k{n}\":{n}")).collect();
        assert_eq!(unique(&format!("{{{}}}", members.join(","))), Ok(()));
        for twice in [0, 11, 12, 39] {
            let text = format!("{{{},\"k{twice}\":0}}", members.join(","));
            assert_eq!(
                unique(&text),
                Err(StrictError::DuplicateKey(format!("k{twice}").into()))
            );
        }
    }

    #[test]
    fn stops_at_the_depth_it_is_given() {
        let text = format!("{}{}", "[".repeat(129), "]".repeat(129));
        assert_eq!(unique(&text), Err(StrictError::TooDeep));
    }
}
