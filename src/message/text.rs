//! Decoding of JSON strings: what the escapes of a token mean.

use std::borrow::Cow;

use super::scan::StringToken;

/// The decoded bytes of a string's inside. A lone surrogate has no UTF-8; it is kept in its three-byte form
/// (as WTF-8 does), so that two spellings of a key can still be compared.
pub(crate) fn unescape(inner: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = inner.iter().position(|byte| *byte == b'\\') else {
        return Cow::Borrowed(inner);
    };
    let mut out = Vec::with_capacity(inner.len());
    out.extend_from_slice(&inner[..first]);
    let mut at = first;
    while at < inner.len() {
        if inner[at] != b'\\' {
            out.push(inner[at]);
            at += 1;
            continue;
        }
        let code = inner.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        match code {
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let mut unit = hex4(inner, at);
                at += 4;
                if (0xd800..0xdc00).contains(&unit) && inner[at..].starts_with(b"\\u") {
                    let low = hex4(inner, at + 2);
                    if (0xdc00..0xe000).contains(&low) {
                        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        at += 6;
                    }
                }
                push_code_point(&mut out, unit);
            }
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

fn hex4(bytes: &[u8], at: usize) -> u32 {
    let digits = bytes
        .get(at..at + 4)
        .and_then(|digits| std::str::from_utf8(digits).ok());
    digits
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .unwrap_or(0xfffd)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "each byte is masked to its six bits"
)]
fn push_code_point(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend_from_slice(&[
            0xe0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3f) as u8,
            0x80 | (code & 0x3f) as u8,
        ]),
    }
}

/// The text of a string token; `None` when it holds a lone surrogate and so has no text.
pub(crate) fn decode(token: StringToken, bytes: &[u8]) -> Option<Cow<'_, str>> {
    decode_inner(token.inner(bytes))
}

/// The same for the bytes between the quotes.
pub(crate) fn decode_inner(inner: &[u8]) -> Option<Cow<'_, str>> {
    match unescape(inner) {
        Cow::Borrowed(plain) => std::str::from_utf8(plain).ok().map(Cow::Borrowed),
        Cow::Owned(decoded) => String::from_utf8(decoded).ok().map(Cow::Owned),
    }
}

/// The 64-bit FNV-1a hash by which events are looked up. A match still compares the name.
pub(crate) fn event_hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(inner: &str) -> Option<String> {
        decode_inner(inner.as_bytes()).map(Cow::into_owned)
    }

    #[test]
    fn decodes_every_escape() {
        assert_eq!(
            text(r#"a\"\\\/\b\f\n\r\tz"#).as_deref(),
            Some("a\"\\/\u{8}\u{c}\n\r\tz")
        );
        assert_eq!(
            text(r"\u0041\u00e9\uD83D\uDE00").as_deref(),
            Some("A\u{e9}\u{1f600}")
        );
    }

    #[test]
    fn a_lone_surrogate_has_no_text_but_can_be_compared() {
        for lone in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\u0041", r"\ud800\ud800"] {
            assert_eq!(text(lone), None, "{lone}");
        }
        assert_eq!(unescape(br"\ud800"), unescape(br"\uD800"));
        assert_ne!(unescape(br"\ud800"), unescape(br"\ud801"));
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(decode_inner(b"plain"), Some(Cow::Borrowed("plain"))));
    }
}
