//! Text for a terminal: colours, wrapping, and nothing that a terminal would obey.

use std::fmt::Write as _;

/// A colour, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Changed,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Changed => "33",
        }
    }
}

/// Writes colours, or leaves them out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    colours: bool,
}

impl Paint {
    pub(super) fn new(colours: bool) -> Self {
        Self { colours }
    }

    /// The text in a colour.
    pub(super) fn ink(self, ink: Ink, text: &str) -> String {
        if !self.colours || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", ink.code())
    }

    /// The text in lines of at most `width` characters, with `marks` in their colours. Lines break behind
    /// punctuation where they can. What goes beyond `max` lines is cut off.
    pub(super) fn wrapped(
        self,
        text: &str,
        width: usize,
        max: usize,
        marks: &[(String, Ink)],
    ) -> Vec<String> {
        let safe = escaped(text);
        let mut inks = vec![Ink::Plain; safe.len()];
        for (mark, ink) in marks {
            for (at, found) in safe.match_indices(mark.as_str()) {
                inks[at..at + found.len()].fill(*ink);
            }
        }
        let chars: Vec<(char, Ink)> = safe.char_indices().map(|(at, c)| (c, inks[at])).collect();
        let mut lines = Vec::new();
        let mut rest = &chars[..];
        while !rest.is_empty() {
            if lines.len() + 1 == max && rest.len() > width {
                let mut line = self.painted(&rest[..width - 2]);
                line.push_str(&self.ink(Ink::Dim, " …"));
                lines.push(line);
                break;
            }
            let (line, more) = rest.split_at(line_len(rest, width));
            lines.push(self.painted(line));
            rest = more;
        }
        lines
    }

    fn painted(self, chars: &[(char, Ink)]) -> String {
        let mut out = String::new();
        for run in chars.chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|(c, _)| c).collect();
            out.push_str(&self.ink(run[0].1, &text));
        }
        out
    }
}

/// How much of `rest` goes into a line: up to the last punctuation in its second half, outside of marks.
fn line_len(rest: &[(char, Ink)], width: usize) -> usize {
    if rest.len() <= width {
        return rest.len();
    }
    let breaks = |&(c, ink): &(char, Ink)| ink == Ink::Plain && matches!(c, ',' | ' ' | '{' | '[');
    let last = rest[width / 2..width].iter().rposition(breaks);
    last.map_or(width, |at| width / 2 + at + 1)
}

/// The text with control characters, and those that turn the direction of writing, as escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_behind_punctuation_and_stay_within_the_width() {
        let lines = Paint::new(false).wrapped(r#"{"aaaa":"bbbb","cccc":"dddd"}"#, 18, 9, &[]);
        assert_eq!(lines, [r#"{"aaaa":"bbbb","#, r#""cccc":"dddd"}"#]);
        let lines = Paint::new(false).wrapped(&"x".repeat(50), 20, 2, &[]);
        assert_eq!(lines, ["x".repeat(20), format!("{} …", "x".repeat(18))]);
    }

    #[test]
    fn marks_are_coloured_across_a_break() {
        let lines = Paint::new(true).wrapped("aXXXXb", 3, 9, &[("XXXX".into(), Ink::Bad)]);
        assert_eq!(lines, ["a\x1b[31mXX\x1b[0m", "\x1b[31mXX\x1b[0mb"]);
        assert_eq!(Paint::new(false).ink(Ink::Bad, "x"), "x");
    }

    #[test]
    fn a_terminal_gets_nothing_to_obey() {
        assert_eq!(escaped("a\x1b[2Jb\u{202e}é"), "a\\u{1b}[2Jb\\u{202e}é");
    }
}
