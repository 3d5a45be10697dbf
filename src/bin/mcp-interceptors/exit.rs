//! How the program ends: 0, 1 for a failure, 2 for arguments that cannot be used.

use std::{error::Error, fmt, process::ExitCode};

/// Why the program ends early, in words for who started it.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// Something failed.
    pub(crate) fn new(what: impl fmt::Display, error: &dyn Error) -> Self {
        Self::said(format!("{what}: {}", with_sources(error)))
    }

    /// Something failed, and the text says all.
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self {
            code: 1,
            text: text.into(),
        }
    }

    /// The arguments cannot be used.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self {
            code: 2,
            text: text.into(),
        }
    }

    pub(crate) fn code(&self) -> ExitCode {
        self.code.into()
    }
}

/// An error and what is behind it, each said once.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
