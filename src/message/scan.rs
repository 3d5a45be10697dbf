//! A validating JSON scanner.
//!
//! It accepts exactly the texts that RFC 8259 allows (a property test holds it equal to `serde_json`), reads
//! each byte once, allocates nothing, and uses no recursion: nesting is a bit stack, so that hostile input
//! cannot overflow the thread's stack. It decodes nothing: lone surrogates and numbers of any size pass.

/// How deep objects and arrays may nest, the message's own object included.
///
/// The specification names no number; this one is far above what real messages use, and what is deeper gets
/// a clean error instead of a stack overflow further down.
pub const MAX_DEPTH: usize = 1024;

/// A range of bytes. Messages are bounded far below 4 GiB, so two `u32` are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            start: narrow(start),
            end: narrow(end),
        }
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.range()]
    }
}

/// A string as it stands in the text, its quotes included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringToken {
    pub(crate) span: Span,
    pub(crate) escaped: bool,
}

impl StringToken {
    /// The bytes between the quotes, still escaped.
    pub(crate) fn inner(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.span.start as usize + 1..self.span.end as usize - 1]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanError {
    Syntax { at: usize },
    TooDeep,
}

type Result<T, E = ScanError> = std::result::Result<T, E>;

#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// `bytes` must be valid UTF-8; the scanner looks at structure only.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            pos: 0,
            depth: 0,
        }
    }

    /// Scans a value that lies inside a larger text, with positions of that text.
    pub(crate) fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos, depth: 0 }
    }

    fn syntax<T>(&self) -> Result<T> {
        Err(ScanError::Syntax { at: self.pos })
    }

    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.pos), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.pos += 1;
        }
    }

    /// The first byte of the next token, not consumed.
    pub(crate) fn peek(&mut self) -> Result<u8> {
        self.skip_blanks();
        match self.bytes.get(self.pos) {
            Some(byte) => Ok(*byte),
            None => self.syntax(),
        }
    }

    fn eat(&mut self, byte: u8) -> Result<()> {
        if self.peek()? == byte {
            self.pos += 1;
            Ok(())
        } else {
            self.syntax()
        }
    }

    /// Nothing but blanks may follow.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.skip_blanks();
        if self.pos == self.bytes.len() {
            Ok(())
        } else {
            self.syntax()
        }
    }

    fn descend(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(ScanError::TooDeep)
        } else {
            Ok(())
        }
    }

    /// Walks an object; `each` gets every key and must consume the value that follows it.
    pub(crate) fn object<E: From<ScanError>>(
        &mut self,
        mut each: impl FnMut(&mut Self, StringToken) -> Result<(), E>,
    ) -> Result<Span, E> {
        self.eat(b'{')?;
        let start = self.pos - 1;
        self.descend()?;
        if self.peek()? == b'}' {
            self.pos += 1;
        } else {
            loop {
                self.peek()?;
                let key = self.string()?;
                self.eat(b':')?;
                each(self, key)?;
                match self.peek()? {
                    b',' => self.pos += 1,
                    b'}' => {
                        self.pos += 1;
                        break;
                    }
                    _ => return Err(ScanError::Syntax { at: self.pos }.into()),
                }
            }
        }
        self.depth -= 1;
        Ok(Span::new(start, self.pos))
    }

    /// Walks an array; `each` gets every index and must consume the value.
    pub(crate) fn array<E: From<ScanError>>(
        &mut self,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<Span, E> {
        self.eat(b'[')?;
        let start = self.pos - 1;
        self.descend()?;
        if self.peek()? == b']' {
            self.pos += 1;
        } else {
            for index in 0.. {
                each(self, index)?;
                match self.peek()? {
                    b',' => self.pos += 1,
                    b']' => {
                        self.pos += 1;
                        break;
                    }
                    _ => return Err(ScanError::Syntax { at: self.pos }.into()),
                }
            }
        }
        self.depth -= 1;
        Ok(Span::new(start, self.pos))
    }

    /// Skips one value of any kind and says where it stands.
    pub(crate) fn value(&mut self) -> Result<Span> {
        let first = self.peek()?;
        let start = self.pos;
        match first {
            b'{' | b'[' => self.container()?,
            _ => self.scalar(first)?,
        }
        Ok(Span::new(start, self.pos))
    }

    fn scalar(&mut self, first: u8) -> Result<()> {
        match first {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => self.syntax(),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<()> {
        if self.bytes[self.pos..].starts_with(word) {
            self.pos += word.len();
            Ok(())
        } else {
            self.syntax()
        }
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.pos;
        while matches!(self.bytes.get(self.pos), Some(b'0'..=b'9')) {
            self.pos += 1;
        }
        if self.pos == start { self.syntax() } else { Ok(()) }
    }

    fn number(&mut self) -> Result<()> {
        if self.bytes[self.pos] == b'-' {
            self.pos += 1;
        }
        if self.bytes.get(self.pos) == Some(&b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.pos), Some(b'e' | b'E')) {
            self.pos += 1;
            if matches!(self.bytes.get(self.pos), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    pub(crate) fn string(&mut self) -> Result<StringToken> {
        if self.bytes.get(self.pos) != Some(&b'"') {
            return self.syntax();
        }
        let start = self.pos;
        let mut escaped = false;
        self.pos += 1;
        loop {
            self.pos += plain_prefix(&self.bytes[self.pos..]);
            match self.bytes.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(StringToken {
                        span: Span::new(start, self.pos),
                        escaped,
                    });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.pos += 1;
                    self.escape()?;
                }
                _ => return self.syntax(),
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        match self.bytes.get(self.pos) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 1,
            Some(b'u') => {
                let digits = self.bytes.get(self.pos + 1..self.pos + 5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return self.syntax();
                }
                self.pos += 5;
            }
            _ => return self.syntax(),
        }
        Ok(())
    }

    /// Skips an object or array without recursion: one bit a level says which of the two is open.
    fn container(&mut self) -> Result<()> {
        let mut open = OpenContainers::default();
        loop {
            // Here a value must start.
            let first = self.peek()?;
            if first == b'{' || first == b'[' {
                self.pos += 1;
                self.descend()?;
                open.push(first == b'{');
                let close = if first == b'{' { b'}' } else { b']' };
                if self.peek()? == close {
                    self.pos += 1;
                    self.depth -= 1;
                    open.pop();
                } else {
                    if first == b'{' {
                        self.key()?;
                    }
                    continue;
                }
            } else {
                self.scalar(first)?;
            }
            // Here a value has ended: close what ends with it, then go on behind the comma.
            loop {
                let Some(in_object) = open.top() else {
                    return Ok(());
                };
                match (self.peek()?, in_object) {
                    (b'}', true) | (b']', false) => {
                        self.pos += 1;
                        self.depth -= 1;
                        open.pop();
                    }
                    (b',', true) => {
                        self.pos += 1;
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.pos += 1;
                        break;
                    }
                    _ => return self.syntax(),
                }
            }
        }
    }

    fn key(&mut self) -> Result<()> {
        self.peek()?;
        self.string()?;
        self.eat(b':')
    }
}

/// Which containers are open, one bit each.
#[derive(Default)]
struct OpenContainers {
    bits: [u64; MAX_DEPTH / 64],
    len: usize,
}

impl OpenContainers {
    fn push(&mut self, object: bool) {
        let (word, bit) = (self.len / 64, self.len % 64);
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(object) << bit;
        self.len += 1;
    }

    fn pop(&mut self) {
        self.len -= 1;
    }

    fn top(&self) -> Option<bool> {
        let last = self.len.checked_sub(1)?;
        Some(self.bits[last / 64] >> (last % 64) & 1 == 1)
    }
}

/// How many leading bytes are plain string content: no quote, no backslash, no control character.
///
/// Eight bytes at a time, since strings are most of what is scanned.
fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let slash = word ^ (ONES * u64::from(b'\\'));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hit = (control | quote.wrapping_sub(ONES) & !quote | slash.wrapping_sub(ONES) & !slash) & HIGH;
        if hit != 0 {
            // A borrow may set bits above the first hit, never below it.
            return at + hit.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..]
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))
        .unwrap_or(bytes.len() - at)
}

#[cfg(test)]
mod tests;
