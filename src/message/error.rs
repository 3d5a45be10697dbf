//! Why bytes are not a message, and why a payload cannot be read or edited.

use std::fmt;

use super::{Id, MAX_DEPTH};

/// Why bytes are no JSON-RPC message of MCP.
///
/// It knows the JSON-RPC code to answer with and, where one could be read, the id of the message.
#[derive(Debug, Clone)]
pub struct ParseError {
    problem: Problem,
    id: Option<Id>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    InvalidUtf8 { at: usize },
    Syntax { at: usize },
    TooDeep,
    TooLarge { limit: usize },
    Batch,
    NotAnObject,
    DuplicateKey(Box<str>),
    Version,
    Id,
    Method,
    Params,
    Error,
    Ambiguous,
}

impl ParseError {
    pub(crate) fn new(problem: Problem) -> Self {
        Self { problem, id: None }
    }

    pub(crate) fn with_id(problem: Problem, id: Option<Id>) -> Self {
        Self { problem, id }
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(Problem::TooLarge { limit })
    }

    /// The id of the message, where it could be read.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The JSON-RPC code: -32700 for what is not JSON, -32600 for JSON that is no request of MCP.
    #[must_use]
    pub fn code(&self) -> i64 {
        match self.problem {
            Problem::InvalidUtf8 { .. } | Problem::Syntax { .. } => -32700,
            _ => -32600,
        }
    }

    /// Whether the message was refused for its size alone.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(self.problem, Problem::TooLarge { .. })
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::InvalidUtf8 { at } => write!(f, "invalid UTF-8 at byte {at}"),
            Problem::Syntax { at } => write!(f, "invalid JSON at byte {at}"),
            Problem::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Problem::TooLarge { limit } => write!(f, "larger than {limit} bytes"),
            Problem::Batch => f.write_str("batches are not accepted; send each message on its own"),
            Problem::NotAnObject => f.write_str("a message must be a JSON object"),
            Problem::DuplicateKey(key) => write!(f, "duplicate key {key:?}"),
            Problem::Version => f.write_str("`jsonrpc` must be \"2.0\""),
            Problem::Id => f.write_str("`id` must be a string or a number"),
            Problem::Method => f.write_str("`method` must be a string"),
            Problem::Params => f.write_str("`params` must be an object"),
            Problem::Error => f.write_str("`error` must be an object"),
            Problem::Ambiguous => {
                f.write_str("a message must have either `method`, or one of `result` and `error`")
            }
        }
    }
}

impl std::error::Error for ParseError {}

/// Why a payload cannot be shown to an interceptor, or not be edited as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadError {
    /// An object in it has a key twice.
    DuplicateKey(Box<str>),
    /// It nests deeper than JSON values are read (128 levels).
    TooDeep,
    /// It holds something that cannot be decoded: a lone surrogate, a number beyond `f64`, another type.
    Decode(Box<str>),
    /// The JSON Pointer (RFC 6901) is malformed or leads nowhere.
    Pointer(Box<str>),
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey(key) => write!(f, "duplicate key {key:?}"),
            Self::TooDeep => f.write_str("nested too deeply to be read"),
            Self::Decode(why) => write!(f, "cannot be decoded: {why}"),
            Self::Pointer(pointer) => write!(f, "no place at JSON Pointer {pointer:?}"),
        }
    }
}

impl std::error::Error for PayloadError {}
