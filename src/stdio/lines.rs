//! Lines of bounded length from a reader.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};

const CHUNK: usize = 16 * 1024;
/// How much of an oversized line is kept, so that its id can perhaps be read.
const START: usize = 1024;

/// One line, without its end (LF or CRLF).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Bytes),
    /// Longer than allowed: its start; the rest was discarded as it came.
    TooLong(Bytes),
}

/// Splits what a reader gives into lines. A line beyond the limit costs no memory: it is discarded up to its
/// end, and the next one works.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    chunk: Box<[u8]>,
    /// What of the chunk is not taken yet.
    unread: std::ops::Range<usize>,
    line: Vec<u8>,
    too_long: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            chunk: vec![0; CHUNK].into(),
            unread: 0..0,
            line: Vec::new(),
            too_long: false,
            ended: false,
        }
    }

    /// The next line; `None` at the end. What stands after the last LF is a line too.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
        loop {
            if let Some(line) = self.take() {
                return Poll::Ready(Ok(Some(line)));
            }
            if self.ended {
                let rest = !self.line.is_empty() || self.too_long;
                return Poll::Ready(Ok(rest.then(|| self.finish())));
            }
            let mut read = ReadBuf::new(&mut self.chunk);
            ready!(Pin::new(&mut self.reader).poll_read(cx, &mut read))?;
            let len = read.filled().len();
            self.unread = 0..len;
            self.ended = len == 0;
        }
    }

    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Moves what was read to the line, up to its end.
    fn take(&mut self) -> Option<Line> {
        let unread = &self.chunk[self.unread.clone()];
        let end = unread.iter().position(|byte| *byte == b'\n');
        let part = &unread[..end.unwrap_or(unread.len())];
        let taken = part.len() + usize::from(end.is_some());
        let room = if self.too_long {
            START.saturating_sub(self.line.len())
        } else {
            usize::MAX
        };
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        // One more than the limit is let in for the CR of a CRLF.
        let len = self.line.len() - usize::from(end.is_some() && self.line.ends_with(b"\r"));
        if !self.too_long && len > self.limit.saturating_add(usize::from(end.is_none())) {
            self.too_long = true;
            self.line.truncate(START);
            self.line.shrink_to_fit();
        }
        self.unread.start += taken;
        end.map(|_| self.finish())
    }

    fn finish(&mut self) -> Line {
        if std::mem::take(&mut self.too_long) {
            return Line::TooLong(std::mem::take(&mut self.line).into());
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Line::Whole(std::mem::take(&mut self.line).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn lines(parts: &[&[u8]], limit: usize) -> Vec<Line> {
        let mut mock = tokio_test::io::Builder::new();
        parts.iter().filter(|part| !part.is_empty()).for_each(|part| {
            mock.read(part);
        });
        let mut lines = Lines::new(mock.build(), limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test]
    async fn splits_at_any_line_end() {
        let all = lines(&[b"one\r\ntw", b"o\n\n", b"\r", b"\nthree"], 10).await;
        assert_eq!(
            all,
            [whole("one"), whole("two"), whole(""), whole(""), whole("three")]
        );
    }

    #[tokio::test]
    async fn an_oversized_line_is_skipped_and_the_next_one_works() {
        let all = lines(&[b"12345\n", b"12345\r\n1234", b"56\nok\n", b"1234567"], 5).await;
        let long = |text: &'static [u8]| Line::TooLong(Bytes::from_static(text));
        assert_eq!(
            all,
            [
                whole("12345"),
                whole("12345"),
                long(b"123456"),
                whole("ok"),
                long(b"1234567")
            ]
        );
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(text in "[ab\r\n]{0,40}", cuts in prop::collection::vec(0usize..40, 0..6)) {
            let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let parts: Vec<_> = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
            let run = |parts: &[&[u8]]| tokio_test::block_on(lines(parts, 8));
            prop_assert_eq!(run(&parts), run(&[text.as_bytes()]));
        }
    }
}
