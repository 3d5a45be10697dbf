//! The text of one server-sent event.

use bytes::{BufMut, Bytes, BytesMut};

/// One server-sent event as it came: all its lines, the blank one that ends it included.
///
/// A proxy must keep what it does not know: comments, `id`, `retry`, line endings. So the text is the truth,
/// and only its `data` lines are written anew, when the message in them was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sse {
    text: Bytes,
    data: Option<Bytes>,
    id: Option<Bytes>,
}

impl Sse {
    /// Reads an event from its text. Lines may end in LF, CR or CRLF, also mixed.
    #[must_use]
    pub fn parse(text: Bytes) -> Self {
        let mut data: Option<Bytes> = None;
        let mut joined: Option<BytesMut> = None;
        let mut id = None;
        for line in Lines::new(&text) {
            let value = text.slice(line.value.clone());
            match line.field(&text) {
                b"data" => match (&mut joined, &data) {
                    (Some(joined), _) => {
                        joined.put_u8(b'\n');
                        joined.put_slice(&value);
                    }
                    (None, Some(first)) => {
                        let mut both = BytesMut::from(&first[..]);
                        both.put_u8(b'\n');
                        both.put_slice(&value);
                        joined = Some(both);
                    }
                    (None, None) => data = Some(value),
                },
                // The specification of event streams ignores an id with a NUL.
                b"id" if !value.contains(&0) => id = Some(value),
                _ => {}
            }
        }
        let data = joined.map(BytesMut::freeze).or(data);
        Self { text, data, id }
    }

    /// A message in an event of its own.
    #[must_use]
    pub fn framed(data: &[u8]) -> Bytes {
        let mut out = BytesMut::with_capacity(data.len() + 24);
        out.put_slice(b"event: message\n");
        put_data(&mut out, data, b"\n");
        out.put_u8(b'\n');
        out.freeze()
    }

    /// The whole text.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.text
    }

    /// The data lines, joined by LF; `None` when there is none.
    #[must_use]
    pub fn data(&self) -> Option<&Bytes> {
        self.data.as_ref()
    }

    /// The value of its `id` field.
    #[must_use]
    pub fn id(&self) -> Option<&Bytes> {
        self.id.as_ref()
    }

    /// Whether it has data: an event without (a comment, a priming event, a `retry`) carries no message.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.as_ref().is_some_and(|data| !data.is_empty())
    }

    /// The value of the last line of a field, such as `event` or `retry`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Bytes> {
        let last = Lines::new(&self.text)
            .filter(|line| line.field(&self.text) == name.as_bytes())
            .last()?;
        Some(self.text.slice(last.value))
    }

    /// The event with other data. When it is the very data that came, so is the text.
    pub(crate) fn framed_with(&self, data: &Bytes) -> Bytes {
        match &self.data {
            Some(own) if own.as_ptr() == data.as_ptr() && own.len() == data.len() => self.text.clone(),
            _ => self.rewritten(data),
        }
    }

    /// The same event with empty data.
    pub(crate) fn emptied(&self) -> Self {
        Self::parse(self.rewritten(b""))
    }

    fn rewritten(&self, data: &[u8]) -> Bytes {
        let mut out = BytesMut::with_capacity(self.text.len() + data.len());
        let mut written = false;
        for line in Lines::new(&self.text) {
            let end = &self.text[line.value.end..line.end];
            if line.field(&self.text) == b"data" {
                if !written {
                    put_data(&mut out, data, end);
                    written = true;
                }
            } else {
                if line.is_blank() && !written {
                    put_data(&mut out, data, end);
                    written = true;
                }
                out.put_slice(&self.text[line.start..line.end]);
            }
        }
        out.freeze()
    }
}

/// Line breaks can stand in JSON between tokens only; each becomes a line of data of its own.
fn put_data(out: &mut BytesMut, data: &[u8], line_end: &[u8]) {
    let line_end = if line_end.is_empty() { b"\n" } else { line_end };
    let mut rest = data;
    loop {
        let cut = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, more) = match cut {
            Some(at) if rest[at..].starts_with(b"\r\n") => (&rest[..at], Some(&rest[at + 2..])),
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        out.put_slice(if line.is_empty() { b"data:" } else { b"data: " });
        out.put_slice(line);
        out.put_slice(line_end);
        match more {
            Some(more) => rest = more,
            None => return,
        }
    }
}

struct Line {
    start: usize,
    name_end: usize,
    value: std::ops::Range<usize>,
    end: usize,
}

impl Line {
    /// The name of the field; empty for a comment.
    fn field<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.name_end]
    }

    fn is_blank(&self) -> bool {
        self.start == self.value.end
    }
}

struct Lines<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let len = rest
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .unwrap_or(rest.len());
        let ending = match &rest[len..] {
            [b'\r', b'\n', ..] => 2,
            [] => 0,
            _ => 1,
        };
        let line = &rest[..len];
        let name = line.iter().position(|byte| *byte == b':');
        let value = match name {
            Some(colon) => colon + 1 + usize::from(line.get(colon + 1) == Some(&b' ')),
            None => len,
        };
        let start = self.at;
        self.at += len + ending;
        Some(Line {
            start,
            name_end: start + name.unwrap_or(len),
            value: start + value..start + len,
            end: self.at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sse(text: &'static str) -> Sse {
        Sse::parse(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn reads_the_fields() {
        let event = sse(": hi\r\nid: 7\r\nevent: message\r\nretry:10\rdata: {\"a\":1}\n\r\n");
        assert_eq!(event.data().unwrap(), "{\"a\":1}");
        assert_eq!(event.id().unwrap(), "7");
        assert_eq!(event.field("retry").unwrap(), "10");
        assert_eq!(event.field("event").unwrap(), "message");
        assert_eq!(sse("data\n\n").data().unwrap(), "");
        assert_eq!(sse("data:  x\n\n").data().unwrap(), " x");
        assert_eq!(sse(": only\n\n").data(), None);
    }

    /// Case 49: several data lines are one text.
    #[test]
    fn joins_data_lines() {
        let event = sse("data: {\ndata: \"a\":1\ndata: }\n\n");
        assert_eq!(event.data().unwrap(), "{\n\"a\":1\n}");
    }

    #[test]
    fn unedited_data_keeps_the_text() {
        for text in ["id: 1\r\ndata:{}\r\n\r\n", "data: {\ndata: }\nid:x\n\n"] {
            let event = sse(text);
            let data = event.data().unwrap().clone();
            assert_eq!(event.framed_with(&data), text);
        }
    }

    #[test]
    fn edited_data_replaces_only_its_lines() {
        let event = sse(": c\r\nid: 1\r\ndata: {\"a\":1}\r\nx: y\r\n\r\n");
        assert_eq!(
            event.framed_with(&Bytes::from_static(b"{\n\"b\":2}")),
            ": c\r\nid: 1\r\ndata: {\r\ndata: \"b\":2}\r\nx: y\r\n\r\n"
        );
    }

    #[test]
    fn an_emptied_event_keeps_its_id() {
        let event = sse("id: 5\nevent: message\ndata: {\ndata: }\n\n").emptied();
        assert_eq!(event.as_bytes(), "id: 5\nevent: message\ndata:\n\n");
        assert!(!event.has_data());
    }

    #[test]
    fn a_message_is_framed_line_by_line() {
        assert_eq!(Sse::framed(b"{}"), "event: message\ndata: {}\n\n");
        assert_eq!(Sse::framed(b"{\r\n}"), "event: message\ndata: {\ndata: }\n\n");
    }
}
