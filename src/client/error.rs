//! Why a call of an interceptor server failed.

use std::{fmt, sync::Arc, time::Duration};

use serde::Deserialize;

use crate::{
    BoxError,
    interceptor::reason::reason,
    message::Message,
    proxy::{BackendError, BackendErrorKind},
};

/// An interceptor server could not be called, or answered with an error.
///
/// Its text is for the operator: it may quote what the server said, shortened and without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    server: Arc<str>,
    kind: ServerErrorKind,
    code: Option<i64>,
    data_kind: Option<Box<str>>,
    text: Box<str>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerErrorKind {
    /// It cannot be reached, or has died.
    Unavailable,
    /// It did not answer in time, or says that the interceptor did not.
    Timeout,
    /// It answered with a JSON-RPC error.
    Refused,
    /// Its answer cannot be understood, or is not for what was asked.
    Malformed,
    /// It speaks no version of the protocol that is known here.
    Version,
    /// The connection was closed on this side.
    Closed,
}

impl ServerError {
    pub(super) fn new(server: &Arc<str>, kind: ServerErrorKind, text: impl fmt::Display) -> Self {
        Self {
            server: Arc::clone(server),
            kind,
            code: None,
            data_kind: None,
            text: reason(&text).into(),
        }
    }

    pub(super) fn timeout(server: &Arc<str>, limit: Duration) -> Self {
        let text = format_args!("no answer within {}ms", limit.as_millis()).to_string();
        Self::new(server, ServerErrorKind::Timeout, text)
    }

    pub(super) fn malformed(server: &Arc<str>, text: impl fmt::Display) -> Self {
        Self::new(server, ServerErrorKind::Malformed, text)
    }

    /// The error of a transport.
    pub(super) fn transport(server: &Arc<str>, error: &BoxError) -> Self {
        let kind = match error.downcast_ref::<BackendError>().map(BackendError::kind) {
            Some(BackendErrorKind::Timeout) => ServerErrorKind::Timeout,
            Some(BackendErrorKind::Garbage) => ServerErrorKind::Malformed,
            _ => ServerErrorKind::Unavailable,
        };
        Self::new(server, kind, error)
    }

    /// The JSON-RPC error that a server answered with.
    pub(super) fn answered(server: &Arc<str>, answer: &Message) -> Self {
        #[derive(Deserialize)]
        struct Error {
            code: i64,
            #[serde(default)]
            message: String,
            #[serde(default)]
            data: serde_json::Value,
        }
        let Ok(error) = answer.payload().parse::<Error>() else {
            return Self::malformed(server, "an error that is no JSON-RPC error");
        };
        let text = error.message.to_lowercase();
        let late = error.code == -32000 || (error.code == -32603 && text.contains("timed out"));
        let kind = if late {
            ServerErrorKind::Timeout
        } else {
            ServerErrorKind::Refused
        };
        Self {
            code: Some(error.code),
            data_kind: error
                .data
                .get("kind")
                .and_then(|kind| kind.as_str())
                .map(|kind| reason(&kind).into()),
            ..Self::new(server, kind, error.message)
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ServerErrorKind {
        self.kind
    }

    /// The server's name here.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The JSON-RPC code, where the server answered with an error.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        self.code
    }

    /// `data.kind` of that error: `unknown_interceptor`, `hook_mismatch`, `failed` and the like.
    #[must_use]
    pub fn data_kind(&self) -> Option<&str> {
        self.data_kind.as_deref()
    }

    /// What the server or the transport said.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it may mean that the server's list has changed.
    pub(super) fn doubts_the_list(&self) -> bool {
        match &self.data_kind {
            Some(kind) => **kind == *"unknown_interceptor",
            None => self.code == Some(-32602),
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interceptor server {:?}: {}", self.server, self.text)?;
        match self.code {
            Some(code) => write!(f, " ({code})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ServerError {}
