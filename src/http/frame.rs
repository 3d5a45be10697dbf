//! Cutting a byte stream into server-sent events, every byte kept.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};

/// How long an event may be unless set otherwise: a message of the default size, with room for its fields.
pub const DEFAULT_MAX_EVENT_BYTES: usize = crate::message::DEFAULT_MAX_BYTES + 64 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Takes chunks and gives whole events: the text with all its lines and the blank one at its end.
///
/// What it gives does not depend on where the chunks were cut, and put together again it is what came, less a
/// byte order mark at the start and an unfinished event at the end. An event that lies in one chunk is a slice
/// of it. A blank line that ends no event is an event of its own, with neither fields nor effect.
///
/// ```
/// use mcp_interceptors::http::Framer;
///
/// let mut framer = Framer::new(1024);
/// framer.push("id: 1\r\ndata: {}\r\n\r".into());
/// assert_eq!(framer.next_event().unwrap(), None);
/// framer.push("\ndata: unfin".into());
/// assert_eq!(framer.next_event().unwrap().unwrap(), "id: 1\r\ndata: {}\r\n\r\n");
/// assert_eq!(framer.next_event().unwrap(), None);
/// ```
#[derive(Debug)]
pub struct Framer {
    limit: usize,
    /// The start of an event whose end has not arrived.
    carry: BytesMut,
    chunk: Bytes,
    /// How much of the chunk has been looked at.
    at: usize,
    line: Line,
    started: bool,
}

#[derive(Debug, Default)]
struct Line {
    /// Whether the current line has a byte before its end.
    filled: bool,
    /// How the line before it ended; `None` at the start of an event.
    before: Option<End>,
    /// A CR came last, and an LF that belongs to it may follow.
    after_cr: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lf,
    Cr,
    CrLf,
}

impl Framer {
    /// A framer that refuses events longer than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            carry: BytesMut::new(),
            chunk: Bytes::new(),
            at: 0,
            line: Line::default(),
            started: false,
        }
    }

    /// Adds what has arrived. The events in earlier chunks are taken out first, with
    /// [`next_event`](Self::next_event).
    pub fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
            self.at = 0;
        } else {
            let mut both = BytesMut::from(&self.chunk[..]);
            both.extend_from_slice(&chunk);
            self.chunk = both.freeze();
        }
    }

    /// The next whole event; `None` when more must arrive.
    ///
    /// # Errors
    ///
    /// When an event, finished or not, is longer than the limit. The framer is of no use after that.
    pub fn next_event(&mut self) -> Result<Option<Bytes>, EventTooLong> {
        if !self.started && !self.skip_bom() {
            return Ok(None);
        }
        while let Some(&byte) = self.chunk.get(self.at) {
            if self.line.after_cr {
                let end = if byte == b'\n' {
                    self.at += 1;
                    End::CrLf
                } else {
                    End::Cr
                };
                if self.end_line(end) {
                    return self.cut().map(Some);
                }
                continue;
            }
            match byte {
                b'\n' => {
                    self.at += 1;
                    if self.end_line(End::Lf) {
                        return self.cut().map(Some);
                    }
                }
                // After a line that ended in CR alone the blank line is over here: to wait for an LF could be
                // to wait for good, with the event in hand. If one comes it is a blank line of its own.
                b'\r' if !self.line.filled && self.line.before == Some(End::Cr) => {
                    self.at += 1;
                    self.line = Line::default();
                    return self.cut().map(Some);
                }
                b'\r' => {
                    self.at += 1;
                    self.line.after_cr = true;
                }
                _ => {
                    let rest = &self.chunk[self.at..];
                    let run = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += run.unwrap_or(rest.len());
                    self.line.filled = true;
                }
            }
        }
        self.within_limit(self.carry.len() + self.chunk.len())?;
        self.carry.extend_from_slice(&self.chunk);
        self.chunk = Bytes::new();
        self.at = 0;
        Ok(None)
    }

    /// The event that only the end of the stream completes: one whose blank line is a CR. What has no blank
    /// line is no event.
    #[must_use]
    pub fn finish(mut self) -> Option<Bytes> {
        let complete = self.line.after_cr && !self.line.filled;
        complete.then(|| self.carry.split().freeze())
    }

    /// Notes the end of a line; whether it ends the event.
    fn end_line(&mut self, end: End) -> bool {
        let blank = !self.line.filled;
        self.line = Line {
            filled: false,
            before: (!blank).then_some(end),
            after_cr: false,
        };
        blank
    }

    fn cut(&mut self) -> Result<Bytes, EventTooLong> {
        self.within_limit(self.carry.len() + self.at)?;
        let part = self.chunk.split_to(self.at);
        self.at = 0;
        if self.carry.is_empty() {
            return Ok(part);
        }
        self.carry.extend_from_slice(&part);
        Ok(self.carry.split().freeze())
    }

    fn within_limit(&self, len: usize) -> Result<(), EventTooLong> {
        if len > self.limit {
            return Err(EventTooLong { limit: self.limit });
        }
        Ok(())
    }

    /// Whether the start of the stream is known, so that a mark there is gone. A mark that stayed would hide
    /// the first field from whoever reads it, but not from a client, which skips the mark.
    fn skip_bom(&mut self) -> bool {
        if !self.carry.is_empty() {
            self.carry.extend_from_slice(&self.chunk);
            self.chunk = self.carry.split().freeze();
        }
        if self.chunk.starts_with(BOM) {
            self.chunk.advance(BOM.len());
        } else if BOM.starts_with(&self.chunk) {
            self.carry.extend_from_slice(&self.chunk);
            self.chunk = Bytes::new();
            return false;
        }
        self.started = true;
        true
    }
}

/// An event is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong {
    limit: usize,
}

impl fmt::Display for EventTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for EventTooLong {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Sse;
    use futures::{StreamExt, executor::block_on};
    use proptest::prelude::*;

    fn frame(chunks: &[&[u8]], limit: usize) -> Result<Vec<Bytes>, EventTooLong> {
        let mut framer = Framer::new(limit);
        let mut events = Vec::new();
        for chunk in chunks {
            framer.push(Bytes::copy_from_slice(chunk));
            while let Some(event) = framer.next_event()? {
                events.push(event);
            }
        }
        events.extend(framer.finish());
        Ok(events)
    }

    /// Case 47: all line endings, also mixed.
    #[test]
    fn any_line_ending_ends_an_event() {
        for (stream, events) in [
            ("data: 1\n\ndata: 2\n\n", vec!["data: 1\n\n", "data: 2\n\n"]),
            (
                "data: 1\r\n\r\ndata: 2\r\n\r\n",
                vec!["data: 1\r\n\r\n", "data: 2\r\n\r\n"],
            ),
            ("data: 1\r\rdata: 2\r\r", vec!["data: 1\r\r", "data: 2\r\r"]),
            (
                "data: 1\r\n\ndata: 2\n\r\n",
                vec!["data: 1\r\n\n", "data: 2\n\r\n"],
            ),
            ("data: 1\n\rdata: 2\n\r", vec!["data: 1\n\r", "data: 2\n\r"]),
            (
                "data: 1\r\r\ndata: 2\n\n",
                vec!["data: 1\r\r", "\n", "data: 2\n\n"],
            ),
        ] {
            assert_eq!(frame(&[stream.as_bytes()], 100).unwrap(), events, "{stream:?}");
        }
    }

    #[test]
    fn an_event_that_ends_in_two_crs_is_given_at_once() {
        let mut framer = Framer::new(100);
        framer.push(Bytes::from_static(b"data: 1\r\r"));
        assert_eq!(framer.next_event().unwrap().unwrap(), "data: 1\r\r");
    }

    #[test]
    fn what_has_no_blank_line_is_no_event() {
        for rest in ["data: 2", "data: 2\n", "data: 2\r", "data: 2\r\n", ":"] {
            let stream = format!("data: 1\n\n{rest}");
            assert_eq!(
                frame(&[stream.as_bytes()], 100).unwrap(),
                ["data: 1\n\n"],
                "{rest:?}"
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        let stream = "\u{feff}data: 1\n\n\u{feff}data: 2\n\n";
        let expected = ["data: 1\n\n", "\u{feff}data: 2\n\n"];
        assert_eq!(frame(&[stream.as_bytes()], 100).unwrap(), expected);
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(frame(&bytes, 100).unwrap(), expected);
    }

    /// Case 54: the limit holds for finished and unfinished events, and starts anew with each.
    #[test]
    fn an_event_is_bounded() {
        let event = b"data: 12345\n\n".as_slice();
        assert_eq!(frame(&[&event.repeat(20)], event.len()).unwrap().len(), 20);
        let error = EventTooLong {
            limit: event.len() - 1,
        };
        assert_eq!(frame(&[event], event.len() - 1), Err(error));
        assert_eq!(frame(&[b"data: 12", b"345678"], event.len() - 1), Err(error));
    }

    #[test]
    fn an_event_in_one_chunk_is_a_slice_of_it() {
        let chunk = Bytes::from("data: 1\n\ndata: 2\n\n".to_owned());
        let mut framer = Framer::new(100);
        framer.push(chunk.clone());
        framer.next_event().unwrap();
        let second = framer.next_event().unwrap().unwrap();
        assert_eq!(second.as_ptr(), chunk[9..].as_ptr());
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let part = prop::sample::select(vec![
            "data: {\"a\":\"ä\"}",
            "data",
            "data:",
            "id: 7",
            "event: message",
            "retry: 5",
            ": comment",
            "x",
            "\n",
            "\r",
            "\r\n",
            "\n\n",
            "\r\n\r\n",
            "\r\r",
            "\u{feff}",
        ]);
        prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat().into_bytes())
    }

    fn cut<'a>(stream: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.extend([0, stream.len()]);
        at.sort_unstable();
        at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
    }

    proptest! {
        #[test]
        fn the_events_do_not_depend_on_the_cuts(
            stream in stream(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            limit in 1usize..80,
        ) {
            let whole = frame(&[&stream], limit);
            prop_assert_eq!(&frame(&cut(&stream, &cuts), limit), &whole);
            let singly: Vec<_> = stream.chunks(1).collect();
            prop_assert_eq!(&frame(&singly, limit), &whole);
        }

        #[test]
        fn nothing_is_lost_but_the_rest(stream in stream()) {
            let events = frame(&[&stream], 10_000).unwrap().concat();
            let stream = stream.strip_prefix(BOM).unwrap_or(&stream);
            prop_assert!(stream.starts_with(&events));
        }

        /// The data of each event, compared with a parser of somebody else.
        #[test]
        fn another_parser_reads_the_same(
            stream in stream(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let ours: Vec<_> = frame(&cut(&stream, &cuts), 10_000)
                .unwrap()
                .into_iter()
                .map(Sse::parse)
                .filter_map(|event| Some(String::from_utf8(event.data()?.to_vec()).unwrap()))
                .collect();
            let chunk = http_body_util::Full::new(Bytes::from(stream));
            let theirs: Vec<_> = block_on(sse_stream::SseStream::new(chunk).collect::<Vec<_>>())
                .into_iter()
                .filter_map(|event| event.unwrap().data)
                .collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}
