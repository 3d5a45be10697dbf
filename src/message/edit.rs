//! Edits by splicing: only the bytes that change are replaced.

use std::{borrow::Cow, ops::Range};

use super::{
    error::PayloadError,
    scan::{ScanError, Scanner, Span, StringToken},
    text::{decode, unescape},
};

/// Where a JSON Pointer leads.
#[derive(Debug)]
pub(crate) enum Place {
    /// A value is there. `slot` is what to cut to remove it, comma included.
    Found { value: Span, slot: Range<usize> },
    /// Its parent is there and takes it here: `before` is what has to stand in front of the value.
    Free { at: usize, before: String },
    /// Nothing is there and nothing can be.
    Nowhere,
}

/// Finds the place of `pointer` (RFC 6901) in a valid JSON text.
pub(crate) fn find(text: &str, pointer: &str) -> Result<Place, PayloadError> {
    let bytes = text.as_bytes();
    if pointer.is_empty() {
        let value = Span::new(0, text.len());
        return Ok(Place::Found {
            value,
            slot: value.range(),
        });
    }
    let malformed = || PayloadError::Pointer(pointer.into());
    let mut tokens = pointer
        .strip_prefix('/')
        .ok_or_else(malformed)?
        .split('/')
        .peekable();
    let mut at = 0;
    while let Some(token) = tokens.next() {
        let token = unescape_token(token).ok_or_else(malformed)?;
        let place = match bytes.get(at) {
            Some(b'{') => member(bytes, at, &token),
            Some(b'[') => item(bytes, at, &token),
            _ => Place::Nowhere,
        };
        match (place, tokens.peek()) {
            (Place::Found { value, .. }, Some(_)) => at = value.start as usize,
            (place, None) => return Ok(place),
            (Place::Free { .. } | Place::Nowhere, Some(_)) => return Ok(Place::Nowhere),
        }
    }
    Ok(Place::Nowhere)
}

fn unescape_token(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(char) = chars.next() {
        match char {
            '~' => out.push(match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            }),
            other => out.push(other),
        }
    }
    Some(Cow::Owned(out))
}

/// The entries of a container, as far as an edit has to know them.
#[derive(Default)]
struct Entries {
    found: Option<(Span, usize)>,
    /// Where the entry after the found one starts.
    next: Option<usize>,
    /// Where the last entry, or the one in front of the found one, ends.
    last_end: Option<usize>,
    previous_end: Option<usize>,
}

impl Entries {
    fn entry(&mut self, wanted: bool, start: usize, value: Span) {
        if self.found.is_none() {
            if wanted {
                self.previous_end = self.last_end;
                self.found = Some((value, start));
            }
        } else if self.next.is_none() {
            self.next = Some(start);
        }
        self.last_end = Some(value.end as usize);
    }

    fn place(self, open: usize, key: impl FnOnce() -> String) -> Place {
        match self.found {
            Some((value, start)) => {
                let end = value.end as usize;
                let slot = match (self.previous_end, self.next) {
                    (Some(previous), _) => previous..end,
                    (None, Some(next)) => start..next,
                    (None, None) => start..end,
                };
                Place::Found { value, slot }
            }
            None => match self.last_end {
                Some(at) => Place::Free {
                    at,
                    before: format!(",{}", key()),
                },
                None => Place::Free {
                    at: open + 1,
                    before: key(),
                },
            },
        }
    }
}

fn member(bytes: &[u8], open: usize, name: &str) -> Place {
    let mut entries = Entries::default();
    let walked = Scanner::at(bytes, open).object(|scanner, key| {
        let value = scanner.value()?;
        let wanted = *unescape(key.inner(bytes)) == *name.as_bytes();
        entries.entry(wanted, key.span.start as usize, value);
        Ok::<_, ScanError>(())
    });
    match walked {
        Ok(_) => entries.place(open, || format!("{}:", serde_json::Value::from(name))),
        Err(_) => Place::Nowhere,
    }
}

fn item(bytes: &[u8], open: usize, token: &str) -> Place {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    let wanted = if digits { token.parse::<usize>().ok() } else { None };
    let mut entries = Entries::default();
    let mut len = 0;
    let walked = Scanner::at(bytes, open).array(|scanner, index| {
        let value = scanner.value()?;
        entries.entry(wanted == Some(index), value.start as usize, value);
        len = index + 1;
        Ok::<_, ScanError>(())
    });
    match walked {
        Ok(_) if wanted.is_some_and(|wanted| wanted <= len) || token == "-" => {
            entries.place(open, String::new)
        }
        _ => Place::Nowhere,
    }
}

/// The text with one range replaced.
pub(crate) fn splice(text: &str, range: Range<usize>, replacement: &[&str]) -> String {
    let added: usize = replacement.iter().map(|part| part.len()).sum();
    let mut out = String::with_capacity(text.len() - range.len() + added);
    out.push_str(&text[..range.start]);
    replacement.iter().for_each(|part| out.push_str(part));
    out.push_str(&text[range.end..]);
    out
}

/// Lets `edit` see every string value, decoded, and puts in what it returns. Keys are left alone.
///
/// `Ok(None)` when nothing changed. A string with a lone surrogate has no text that could be shown, so it is
/// an error: passed over, it would be a hole.
pub(crate) fn edit_strings(
    text: &str,
    edit: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Option<String>, PayloadError> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    for_each_string(&mut Scanner::new(bytes), &mut |token| {
        let string = decode(token, bytes)
            .ok_or_else(|| PayloadError::Decode("a string with a lone surrogate has no text".into()))?;
        if let Some(new) = edit(&string).filter(|new| *new != *string) {
            out.push_str(&text[copied..token.span.start as usize]);
            out.push_str(&serde_json::Value::from(new).to_string());
            copied = token.span.end as usize;
        }
        Ok(())
    })?;
    if copied == 0 {
        return Ok(None);
    }
    out.push_str(&text[copied..]);
    Ok(Some(out))
}

enum Walk {
    Stop(PayloadError),
    Scan(ScanError),
}

impl From<ScanError> for Walk {
    fn from(error: ScanError) -> Self {
        Self::Scan(error)
    }
}

fn for_each_string(
    scanner: &mut Scanner<'_>,
    each: &mut dyn FnMut(StringToken) -> Result<(), PayloadError>,
) -> Result<(), PayloadError> {
    walk(scanner, each, super::payload::READ_DEPTH).map_err(|stop| match stop {
        Walk::Stop(error) => error,
        Walk::Scan(error) => PayloadError::Decode(format!("{error:?}").into()),
    })
}

fn walk(
    scanner: &mut Scanner<'_>,
    each: &mut dyn FnMut(StringToken) -> Result<(), PayloadError>,
    depth: usize,
) -> Result<(), Walk> {
    let below = depth.checked_sub(1).ok_or(Walk::Stop(PayloadError::TooDeep));
    match scanner.peek()? {
        b'{' => {
            let below = below?;
            scanner.object(|scanner, _| walk(scanner, each, below)).map(drop)
        }
        b'[' => {
            let below = below?;
            scanner.array(|scanner, _| walk(scanner, each, below)).map(drop)
        }
        b'"' => each(scanner.string()?).map_err(Walk::Stop),
        _ => Ok(scanner.value().map(drop)?),
    }
}
