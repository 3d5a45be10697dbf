use super::*;
use proptest::prelude::*;

fn accepts(text: &str) -> Result<()> {
    let mut scanner = Scanner::new(text.as_bytes());
    scanner.value()?;
    scanner.end()
}

fn serde_accepts(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

#[test]
fn accepts_what_the_grammar_allows() {
    for text in [
        "{}",
        "[]",
        " [ ] ",
        "0",
        "-0",
        "1.10",
        "1e400",
        "-1E+2",
        "\"\\ud800\"",
        "true",
        "null",
        "[[],{}]",
        "{\"a\":[1,{\"b\":null}],\"a\":2}",
        "\"\u{7f}\u{e9}\"",
        "123456789012345678901234567890",
    ] {
        assert!(accepts(text).is_ok(), "{text}");
        assert!(serde_accepts(text), "{text}");
    }
}

#[test]
fn refuses_what_it_does_not() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "]",
        "[1,]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "tru",
        "nul",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "[1 2]",
        "\u{feff}{}",
        "\"\\u12\"",
        "NaN",
        "'a'",
    ] {
        assert!(accepts(text).is_err(), "{text}");
        assert!(!serde_accepts(text), "{text}");
    }
}

#[test]
fn nesting_is_limited_and_never_overflows() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(accepts(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(accepts(&nested(MAX_DEPTH + 1)), Err(ScanError::TooDeep));
    assert_eq!(accepts(&nested(100_000)), Err(ScanError::TooDeep));
    let objects = format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH), "}".repeat(MAX_DEPTH));
    assert_eq!(accepts(&objects), Ok(()));
}

#[test]
fn the_fast_string_path_finds_every_special_byte_at_every_offset() {
    for offset in 0..20 {
        for special in [b'"', b'\\', 0x1f, 0x00, b'\n'] {
            let mut bytes = vec![b'a'; 24];
            bytes[offset] = special;
            assert_eq!(plain_prefix(&bytes), offset, "{special}");
            // Bytes of multi-byte characters are plain.
            bytes[..offset].fill(0xbf);
            assert_eq!(plain_prefix(&bytes), offset, "{special}");
        }
    }
}

proptest! {
    #[test]
    fn agrees_with_serde_json_on_noise(text in "[\\[\\]{},:\"\\\\0-9eE.+truefalsn\\- \n]{0,24}") {
        prop_assert_eq!(accepts(&text).is_ok(), serde_accepts(&text));
    }

    #[test]
    fn agrees_with_serde_json_on_any_text(text in ".{0,32}") {
        prop_assert_eq!(accepts(&text).is_ok(), serde_accepts(&text));
    }
}
