//! Finding credentials in a text.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    ops::Range,
    sync::{Arc, LazyLock},
};

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::formats::FORMATS;

/// How large a user's pattern may become once compiled: 256 KiB.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// What credentials look like: a catalogue of published formats, and patterns of your own.
///
/// Searching takes time linear in the text, whatever the pattern.
///
/// ```
/// use mcp_interceptors::builtin::SecretPatterns;
///
/// let patterns = SecretPatterns::new().pattern("badge", "BADGE-[0-9]{6}")?;
/// let found = patterns.find("my badge is BADGE-123456.");
/// assert_eq!((found[0].format, found[0].range.clone()), ("badge", 12..24));
/// # Ok::<(), mcp_interceptors::builtin::PatternError>(())
/// ```
#[derive(Clone)]
pub struct SecretPatterns {
    catalogue: bool,
    own: Arc<[Pattern]>,
}

/// A credential in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found<'a> {
    /// What format it has.
    pub format: &'a str,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
}

#[derive(Clone)]
struct Pattern {
    format: Cow<'static, str>,
    regex: Regex,
    in_context: bool,
    accept: fn(&str) -> bool,
}

struct Catalogue {
    /// All of them at once: most texts hold nothing, and one pass tells.
    any: RegexSet,
    patterns: Vec<LazyLock<Pattern, Box<dyn FnOnce() -> Pattern + Send>>>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
    any: RegexSetBuilder::new(FORMATS.iter().map(|(_, pattern, _)| pattern))
        .size_limit(64 << 20)
        .build()
        .expect("the catalogue compiles, as a test shows"),
    patterns: FORMATS
        .iter()
        .map(|&(format, pattern, accept)| {
            let compile = move || Pattern {
                accept,
                ..Pattern::new(format.into(), Regex::new(pattern).expect("as above"))
            };
            LazyLock::new(Box::new(compile) as Box<dyn FnOnce() -> Pattern + Send>)
        })
        .collect(),
});

impl Pattern {
    fn new(format: Cow<'static, str>, regex: Regex) -> Self {
        Self {
            format,
            in_context: regex.capture_names().any(|name| name == Some("secret")),
            regex,
            accept: |_| true,
        }
    }

    fn find_into(&self, order: usize, text: &str, found: &mut Vec<Ordered>) {
        let mut push = |secret: regex::Match<'_>| {
            // What is empty hides nothing.
            if !secret.is_empty() && (self.accept)(secret.as_str()) {
                found.push((order, secret.range()));
            }
        };
        if self.in_context {
            let all = self.regex.captures_iter(text);
            all.filter_map(|captures| captures.name("secret"))
                .for_each(&mut push);
        } else {
            self.regex.find_iter(text).for_each(&mut push);
        }
    }
}

/// The place of a format, and where a secret of it stands.
type Ordered = (usize, Range<usize>);

impl Default for SecretPatterns {
    fn default() -> Self {
        Self::new()
    }
}

impl SecretPatterns {
    /// The catalogue.
    #[must_use]
    pub fn new() -> Self {
        // Here and not with the first message: it takes some milliseconds.
        LazyLock::force(&CATALOGUE);
        Self {
            catalogue: true,
            own: Arc::default(),
        }
    }

    /// No pattern at all, to add one's own.
    #[must_use]
    pub fn none() -> Self {
        Self {
            catalogue: false,
            own: Arc::default(),
        }
    }

    /// Adds a pattern: a regular expression as the crate `regex` has them. Where it has a group named `secret`,
    /// `(?P<secret>…)`, that group is the secret and the rest its context.
    ///
    /// # Errors
    ///
    /// When it is no regular expression, when it takes more than 256 KiB once compiled, and when `format` is
    /// taken or is anything but letters, digits, `_`, `-` and `.`.
    pub fn pattern(mut self, format: impl Into<String>, pattern: &str) -> Result<Self, PatternError> {
        let format = format.into();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if format.is_empty() || !format.chars().all(is_plain) {
            return Err(PatternError(format!(
                "{format:?} cannot name a format: use letters, digits, `_`, `-` and `.`"
            )));
        }
        if self.formats().any(|known| known == format) {
            return Err(PatternError(format!("there is a format {format:?} already")));
        }
        let regex = RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(1 << 20)
            .build()
            .map_err(|error| PatternError(format!("the pattern of {format:?}: {error}")))?;
        let added = std::iter::once(Pattern::new(format.into(), regex));
        self.own = self.own.iter().cloned().chain(added).collect();
        Ok(self)
    }

    /// The formats it knows.
    pub fn formats(&self) -> impl Iterator<Item = &str> {
        let catalogue: &[_] = if self.catalogue { FORMATS } else { &[] };
        let own = self.own.iter().map(|pattern| &*pattern.format);
        catalogue.iter().map(|(format, _, _)| *format).chain(own)
    }

    /// Finds all credentials: format by format in the order of [`formats`](Self::formats), and each format's by
    /// position. One text may be found as several.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Found<'_>> {
        let all = self.find_ordered(text).into_iter();
        all.map(|(order, range)| Found {
            format: self.format(order),
            range,
        })
        .collect()
    }

    fn find_ordered(&self, text: &str) -> Vec<Ordered> {
        let mut all = Vec::new();
        if self.catalogue {
            for order in &CATALOGUE.any.matches(text) {
                CATALOGUE.patterns[order].find_into(order, text, &mut all);
            }
        }
        for (order, pattern) in self.own.iter().enumerate() {
            pattern.find_into(FORMATS.len() + order, text, &mut all);
        }
        all
    }

    fn format(&self, order: usize) -> &str {
        match FORMATS.get(order) {
            Some((format, _, _)) => format,
            None => &self.own[order - FORMATS.len()].format,
        }
    }

    /// The text with every credential replaced; `None` when there is none. Each one's format goes into `found`.
    ///
    /// What overlaps is replaced as one, under the format that comes first.
    pub(super) fn redact<'a>(
        &'a self,
        text: &str,
        replace: &dyn Fn(&str, &str) -> String,
        found: &mut Redacted<'a>,
    ) -> Option<String> {
        let first = self.runs(text);
        if first.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        // What is left between two is searched again by itself: without its neighbour, a word may begin there.
        // Each entry is a text to search, or one to write out.
        let mut stack = Vec::new();
        self.split(text, first, replace, found, &mut stack);
        while let Some(piece) = stack.pop() {
            match piece {
                Piece::Done(done) => out.push_str(&done),
                Piece::Search(rest) => {
                    let runs = self.runs(rest);
                    if runs.is_empty() {
                        out.push_str(rest);
                    } else {
                        self.split(rest, runs, replace, found, &mut stack);
                    }
                }
            }
        }
        Some(out)
    }

    /// Pushes the pieces of `text` onto the stack, the first of them on top.
    fn split<'a, 't>(
        &'a self,
        text: &'t str,
        runs: Vec<Ordered>,
        replace: &dyn Fn(&str, &str) -> String,
        found: &mut Redacted<'a>,
        stack: &mut Vec<Piece<'t>>,
    ) {
        let mut end = text.len();
        for (order, range) in runs.into_iter().rev() {
            let format = self.format(order);
            found.count += 1;
            found.formats.insert((order, format));
            if range.end < end {
                stack.push(Piece::Search(&text[range.end..end]));
            }
            end = range.start;
            stack.push(Piece::Done(replace(format, &text[range])));
        }
        if end > 0 {
            stack.push(Piece::Search(&text[..end]));
        }
    }

    /// What is found, where it overlaps taken together, by position.
    fn runs(&self, text: &str) -> Vec<Ordered> {
        let mut all = self.find_ordered(text);
        all.sort_by_key(|(_, range)| range.start);
        let mut runs: Vec<Ordered> = Vec::with_capacity(all.len());
        for (order, range) in all {
            match runs.last_mut() {
                Some((first, run)) if range.start < run.end => {
                    *first = order.min(*first);
                    run.end = run.end.max(range.end);
                }
                _ => runs.push((order, range)),
            }
        }
        runs
    }
}

enum Piece<'t> {
    Search(&'t str),
    Done(String),
}

/// What was replaced.
#[derive(Default)]
pub(super) struct Redacted<'a> {
    pub(super) count: usize,
    /// In the order of the catalogue.
    pub(super) formats: BTreeSet<(usize, &'a str)>,
}

impl fmt::Debug for SecretPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<_> = self.own.iter().map(|pattern| &pattern.format).collect();
        f.debug_struct("SecretPatterns")
            .field("catalogue", &self.catalogue)
            .field("own", &own)
            .finish()
    }
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}
