//! Reasons that are safe to show.

use std::fmt::Display;

/// How much of a reason is kept.
const MAX_CHARS: usize = 300;

/// The text of an error that may quote what a peer sent: shortened, and without control characters, so that it
/// cannot forge a log line or steer a terminal.
pub(crate) fn reason(error: &dyn Display) -> String {
    let full = error.to_string();
    let mut text = String::with_capacity(full.len().min(MAX_CHARS));
    for (count, c) in full.chars().enumerate() {
        if count == MAX_CHARS {
            text.push('…');
            break;
        }
        if c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_long_texts_cut() {
        assert_eq!(reason(&"a\n\u{1b}[2J\u{202e}é"), r"a\n\u{1b}[2J\u{202e}é");
        assert_eq!(reason(&"x".repeat(5_000)).chars().count(), MAX_CHARS + 1);
    }
}
