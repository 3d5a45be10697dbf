//! One message as one line.

use std::fmt::Write as _;

use crate::message::{Id, Message, ScanError, Scanner};

/// The message as a line, its LF included.
///
/// A raw LF inside would end the frame early and start a second one: an injection path as much as a nuisance.
/// Valid JSON has raw line breaks only as blanks between tokens, so a space for each keeps the meaning.
pub(crate) fn framed(message: &Message) -> Vec<u8> {
    let mut line = Vec::with_capacity(message.bytes().len() + 1);
    frame_into(&mut line, message);
    line
}

/// The same, behind what is there.
pub(crate) fn frame_into(out: &mut Vec<u8>, message: &Message) {
    out.extend(message.bytes().iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    }));
    out.push(b'\n');
}

/// The id of what was meant as an answer but is no valid message: truncated, not UTF-8, with keys twice.
///
/// `None` where there is no id, where it may be cut, and where nothing says that it is an answer: a request of
/// the peer has an id of the peer's own.
pub(crate) fn answered_id(bytes: &[u8]) -> Option<Id> {
    leading_id(bytes)
        .filter(|(_, answers)| *answers)
        .map(|(id, _)| id)
}

/// The id of a message of which perhaps only the start is there, and whether the message is an answer.
pub(crate) fn leading_id(bytes: &[u8]) -> Option<(Id, bool)> {
    let mut id = None;
    let mut answers = false;
    // An error ends the walk; what was read before it counts.
    let _ = Scanner::new(bytes).object(|scanner, key| {
        match key.inner(bytes) {
            b"id" => {
                let span = scanner.value()?;
                // A number at the very end may have been cut.
                if (span.end as usize) < bytes.len() {
                    id = std::str::from_utf8(span.of(bytes)).ok().and_then(Id::from_json);
                }
            }
            name => {
                answers |= matches!(name, b"result" | b"error");
                scanner.value()?;
            }
        }
        Ok::<_, ScanError>(())
    });
    Some((id?, answers))
}

/// The start of something foreign, fit for a log line: escaped and never whole.
pub(crate) fn excerpt(bytes: &[u8], max: usize) -> String {
    let cut = &bytes[..bytes.len().min(max)];
    let mut out = String::with_capacity(cut.len() + 16);
    for char in String::from_utf8_lossy(cut).chars() {
        // Line and direction marks can forge a log as well as control characters can.
        if char.is_control()
            || matches!(char, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            let _ = write!(out, "{}", char.escape_default());
        } else {
            out.push(char);
        }
    }
    if cut.len() < bytes.len() {
        let _ = write!(out, "… ({} bytes)", bytes.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case 74: a pretty-printed body is one frame, and its strings keep their escapes.
    #[test]
    fn case_74_a_frame_has_no_line_break_inside() {
        let message =
            Message::parse("{\r\n \"jsonrpc\":\"2.0\",\n\"method\":\"a\",\"params\":{\"x\":\"1\\n\\r2\"}}\n")
                .unwrap();
        let frame = framed(&message);
        assert_eq!(
            frame,
            b"{   \"jsonrpc\":\"2.0\", \"method\":\"a\",\"params\":{\"x\":\"1\\n\\r2\"}} \n"
        );
    }

    #[test]
    fn reads_the_id_of_a_broken_answer_only() {
        let id = |text: &[u8]| answered_id(text).map(|id| id.to_string());
        assert_eq!(id(b"{\"id\":7,\"result\":{\"x\":").as_deref(), Some("7"));
        assert_eq!(id(b"{\"result\":{},\"id\":7}").as_deref(), Some("7"));
        assert_eq!(
            id(b"{\"id\":7,\"result\":{\"x\":\"\xb0\xa1\"}}").as_deref(),
            Some("7")
        );
        for none in [
            &b"{\"result\":{},\"id\":7"[..],
            b"{\"id\":7,\"method\":\"a\"}",
            b"{\"id\":7}",
            b"hello",
            b"[1]",
            b"",
        ] {
            assert_eq!(id(none), None);
        }
    }

    #[test]
    fn an_excerpt_is_escaped_and_cut() {
        assert_eq!(excerpt(b"a\x1b[31m\nb\xff", 80), "a\\u{1b}[31m\\nb\u{fffd}");
        assert_eq!(excerpt(b"abcdef", 3), "abc… (6 bytes)");
    }
}
