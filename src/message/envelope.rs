//! One pass over a received message: what kind it is and where its parts stand.

use super::{
    Id, Kind,
    error::{ParseError, Problem},
    keys::Keys,
    scan::{ScanError, Scanner, Span, StringToken},
    text::{decode, event_hash, unescape},
};

/// Where the parts of a message stand in its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: Kind,
    /// The token of the id; requests, responses and most errors have one.
    pub(crate) id: Option<Span>,
    pub(crate) method: Option<Text>,
    pub(crate) method_hash: u64,
    /// `params`, `result` or `error`, by kind; absent only where `params` is.
    pub(crate) payload: Option<Span>,
    pub(crate) name: Option<Text>,
    pub(crate) uri: Option<Text>,
    pub(crate) progress_token: Option<Span>,
    pub(crate) protocol_version: Option<Text>,
    /// Just inside the closing brace: where a member that is not there yet is added.
    pub(crate) end: u32,
}

/// A string, decoded only when its spelling is not the text itself.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    inner: Span,
    decoded: Option<Box<str>>,
}

impl Text {
    /// `None` when it holds a lone surrogate.
    fn new(token: StringToken, bytes: &[u8]) -> Option<Self> {
        let inner = Span {
            start: token.span.start + 1,
            end: token.span.end - 1,
        };
        let decoded = if token.escaped {
            Some(decode(token, bytes)?.into())
        } else {
            None
        };
        Some(Self { inner, decoded })
    }

    pub(crate) fn bytes<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        match &self.decoded {
            Some(decoded) => decoded.as_bytes(),
            None => self.inner.of(message),
        }
    }

    pub(crate) fn get<'a>(&'a self, message: &'a [u8]) -> &'a str {
        // Messages are valid UTF-8 as a whole and tokens start and end at ASCII, so this cannot fail.
        std::str::from_utf8(self.bytes(message)).unwrap_or_default()
    }
}

/// The key of the protocol version in a request's `_meta` (2026-07-28).
const PROTOCOL_VERSION: &[u8] = b"io.modelcontextprotocol/protocolVersion";

#[derive(Default)]
struct Found {
    version: bool,
    id: Option<Span>,
    method: Option<Option<Text>>,
    params: Option<Params>,
    result: Option<Span>,
    error: Option<Span>,
}

#[derive(Default)]
struct Params {
    span: Option<Span>,
    name: Option<Text>,
    uri: Option<Text>,
    progress_token: Option<Span>,
    protocol_version: Option<Text>,
}

/// Reads the envelope. A problem does not end the pass, so that the error can carry the id.
pub(crate) fn read(bytes: &[u8]) -> Result<Envelope, ParseError> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(ParseError::new(Problem::InvalidUtf8 {
            at: error.valid_up_to(),
        }));
    }
    let mut scanner = Scanner::new(bytes);
    let syntax = |error| match error {
        ScanError::Syntax { at } => ParseError::new(Problem::Syntax { at }),
        ScanError::TooDeep => ParseError::new(Problem::TooDeep),
    };
    match scanner.peek().map_err(syntax)? {
        b'{' => {}
        first => {
            let problem = if first == b'[' {
                Problem::Batch
            } else {
                Problem::NotAnObject
            };
            scanner.value().and_then(|_| scanner.end()).map_err(syntax)?;
            return Err(ParseError::new(problem));
        }
    }
    let mut found = Found::default();
    let mut problem = None;
    let scanned = scan(&mut scanner, bytes, &mut found, &mut problem);
    let id = found
        .id
        .map(|span| std::str::from_utf8(span.of(bytes)).ok().and_then(Id::from_json));
    let span = match scanned {
        // What stands before it is sound.
        Err(ScanError::TooDeep) => return Err(ParseError::with_id(Problem::TooDeep, id.flatten())),
        scanned => scanned.map_err(syntax)?,
    };
    scanner.end().map_err(syntax)?;
    let end = span.end - 1;
    let readable = id.clone().flatten();
    let fail = |problem| ParseError::with_id(problem, readable.clone());
    match problem {
        Some(problem) => Err(fail(problem)),
        None => classify(found, id.as_ref().map(Option::as_ref), end, bytes).map_err(fail),
    }
}

fn scan(
    scanner: &mut Scanner<'_>,
    bytes: &[u8],
    found: &mut Found,
    problem: &mut Option<Problem>,
) -> Result<Span, ScanError> {
    let mut keys = Keys::default();
    scanner.object(|scanner, key| {
        if !keys.insert(key, bytes) {
            problem.get_or_insert_with(|| duplicate(key, bytes));
            // Which of the two was meant nobody knows.
            if &*unescape(key.inner(bytes)) == b"id" {
                found.id = None;
            }
            return scanner.value().map(drop);
        }
        match &*unescape(key.inner(bytes)) {
            b"jsonrpc" => found.version = scanner.value()?.of(bytes) == b"\"2.0\"",
            b"id" => found.id = Some(scanner.value()?),
            b"method" => found.method = Some(string(scanner, bytes)?),
            b"params" => found.params = Some(params(scanner, bytes, problem)?),
            b"result" => found.result = Some(scanner.value()?),
            b"error" => found.error = Some(scanner.value()?),
            _ => drop(scanner.value()?),
        }
        Ok(())
    })
}

fn duplicate(key: StringToken, bytes: &[u8]) -> Problem {
    Problem::DuplicateKey(String::from_utf8_lossy(&unescape(key.inner(bytes))).into())
}

/// A value that should be a string; anything else is skipped and counts as none.
fn string(scanner: &mut Scanner<'_>, bytes: &[u8]) -> Result<Option<Text>, ScanError> {
    if scanner.peek()? == b'"' {
        Ok(Text::new(scanner.string()?, bytes))
    } else {
        scanner.value()?;
        Ok(None)
    }
}

fn params(
    scanner: &mut Scanner<'_>,
    bytes: &[u8],
    problem: &mut Option<Problem>,
) -> Result<Params, ScanError> {
    let mut params = Params::default();
    if scanner.peek()? != b'{' {
        let span = scanner.value()?;
        if span.of(bytes) != b"null" {
            problem.get_or_insert(Problem::Params);
        }
        params.span = Some(span);
        return Ok(params);
    }
    let mut keys = Keys::default();
    let span = scanner.object(|scanner, key| {
        if !keys.insert(key, bytes) {
            problem.get_or_insert_with(|| duplicate(key, bytes));
        }
        match &*unescape(key.inner(bytes)) {
            b"name" => params.name = string(scanner, bytes)?,
            b"uri" => params.uri = string(scanner, bytes)?,
            b"_meta" => meta(scanner, bytes, &mut params, problem)?,
            _ => drop(scanner.value()?),
        }
        Ok::<_, ScanError>(())
    })?;
    params.span = Some(span);
    Ok(params)
}

fn meta(
    scanner: &mut Scanner<'_>,
    bytes: &[u8],
    params: &mut Params,
    problem: &mut Option<Problem>,
) -> Result<(), ScanError> {
    if scanner.peek()? != b'{' {
        return scanner.value().map(drop);
    }
    let mut keys = Keys::default();
    scanner.object(|scanner, key| {
        if !keys.insert(key, bytes) {
            problem.get_or_insert_with(|| duplicate(key, bytes));
        }
        match &*unescape(key.inner(bytes)) {
            b"progressToken" => params.progress_token = Some(scanner.value()?),
            PROTOCOL_VERSION => params.protocol_version = string(scanner, bytes)?,
            _ => drop(scanner.value()?),
        }
        Ok(())
    })?;
    Ok(())
}

/// The kind is decided by which members there are. `id` is `Some(None)` where there is one that is no id.
fn classify(found: Found, id: Option<Option<&Id>>, end: u32, bytes: &[u8]) -> Result<Envelope, Problem> {
    if !found.version {
        return Err(Problem::Version);
    }
    let answers = found.result.is_some() || found.error.is_some();
    let (kind, payload) = match (&found.method, found.result, found.error) {
        (Some(None), ..) => return Err(Problem::Method),
        (Some(Some(_)), None, None) => {
            let kind = match id {
                None => Kind::Notification,
                Some(Some(_)) => Kind::Request,
                Some(None) => return Err(Problem::Id),
            };
            (kind, found.params.as_ref().and_then(|params| params.span))
        }
        (None, Some(result), None) => match id {
            Some(Some(_)) => (Kind::Response, Some(result)),
            _ => return Err(Problem::Id),
        },
        // JSON-RPC answers with `"id":null` what it could not read; the id may be absent, too.
        (None, None, Some(error)) => match id {
            Some(None) if found.id.is_some_and(|id| id.of(bytes) != b"null") => return Err(Problem::Id),
            _ if bytes[error.start as usize] != b'{' => return Err(Problem::Error),
            _ => (Kind::Error, Some(error)),
        },
        _ => return Err(Problem::Ambiguous),
    };
    if answers && found.params.is_some() {
        return Err(Problem::Ambiguous);
    }
    let method = found.method.flatten();
    let method_hash = method
        .as_ref()
        .map_or(0, |method| event_hash(method.bytes(bytes)));
    let params = found.params.unwrap_or_default();
    Ok(Envelope {
        kind,
        id: found.id,
        method,
        method_hash,
        payload,
        name: params.name,
        uri: params.uri,
        progress_token: params.progress_token,
        protocol_version: params.protocol_version,
        end,
    })
}
