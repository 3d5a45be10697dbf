//! The two security behaviours of the fixtures, exactly as those describe them and no better: parallel calls of a
//! session mix up their servers, and a handle can be guessed. They are for replaying fixtures, not for protecting
//! anything.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_interceptors::{
    BoxError,
    interceptor::{Invocation, MutationResult, Phase, ValidationResult},
    message::Payload,
};
use serde_json::json;

/// A format of secrets: its prefix, what may follow, and how many of that at least and at most.
struct Format {
    id: &'static str,
    prefix: &'static str,
    follows: fn(u8) -> bool,
    least: usize,
    most: usize,
}

const fn format(
    id: &'static str,
    prefix: &'static str,
    follows: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> Format {
    Format {
        id,
        prefix,
        follows,
        least,
        most,
    }
}

const ANY: usize = usize::MAX;
const FORMATS: [Format; 7] = [
    format("stripe_secret_live", "sk_live_", alphanumeric, 16, ANY),
    format("stripe_pub_live", "pk_live_", alphanumeric, 16, ANY),
    format("github_pat", "ghp_", alphanumeric, 20, ANY),
    format("github_oauth", "gho_", alphanumeric, 20, ANY),
    format("aws_access_key", "AKIA", upper_or_digit, 16, 16),
    format("slack_bot", "xoxb-", alphanumeric_or_dash, 10, ANY),
    format("slack_refresh", "xoxr-", alphanumeric_or_dash, 10, ANY),
];

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn alphanumeric_or_dash(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Format {
    /// Where its first secret stands at or after `from`.
    fn next(&self, text: &str, mut from: usize) -> Option<(usize, usize)> {
        while let Some(at) = text[from..].find(self.prefix) {
            let start = from + at;
            let body = start + self.prefix.len();
            let rest = text.as_bytes()[body..].iter();
            let len = rest
                .take(self.most)
                .take_while(|byte| (self.follows)(**byte))
                .count();
            if len >= self.least {
                return Some((start, body + len));
            }
            from = body;
        }
        None
    }
}

/// All secrets of the first format by position, then those of the second, and so on.
pub(crate) fn find(text: &str) -> Vec<(&'static str, &str)> {
    let mut found = Vec::new();
    for format in &FORMATS {
        let mut from = 0;
        while let Some((start, end)) = format.next(text, from) {
            found.push((format.id, &text[start..end]));
            from = end;
        }
    }
    found
}

/// What stands in a secret's place.
pub(crate) fn handle(format: &str, secret: &str) -> String {
    let hash = secret.encode_utf16().fold(0x811c_9dc5_u32, |hash, unit| {
        (hash ^ u32::from(unit)).wrapping_mul(0x0100_0193)
    });
    format!("<mcp:secret-ref:{format}:{hash:08x}>")
}

/// The mutator: each secret in a string becomes its handle.
pub(crate) fn redact(payload: &Payload) -> Result<MutationResult, BoxError> {
    let mut payload = payload.clone();
    let mut formats: Vec<&str> = Vec::new();
    let mut count = 0;
    payload.edit_strings(|text| {
        let mut redacted = text.to_owned();
        for (format, secret) in find(text) {
            redacted = redacted.replace(secret, &handle(format, secret));
            count += 1;
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        (redacted != text).then_some(redacted)
    })?;
    if count == 0 {
        return Ok(MutationResult::unmodified());
    }
    Ok(MutationResult::edited(payload).with_info(json!({"redacted": count, "formats": formats})))
}

const ROSTER: [(&str, &[&str]); 7] = [
    (
        "filesystem",
        &[
            "read_file",
            "write_file",
            "move_file",
            "list_directory",
            "search_files",
        ],
    ),
    (
        "sqlite",
        &["read_query", "write_query", "list_tables", "describe_table"],
    ),
    ("git", &["git_log", "git_show", "git_diff_unstaged"]),
    ("memory", &["read_graph", "create_entities", "add_observations"]),
    ("fetch", &["fetch"]),
    (
        "browser",
        &["browser_type", "browser_fill_form", "browser_snapshot"],
    ),
    ("shell", &["execute_command"]),
];

/// The server that a message concerns, by the tool's name, the resource's URI or the event.
pub(crate) fn server_of(event: &str, payload: &Payload) -> Result<String, BoxError> {
    let text = |pointer: &str| -> Result<Option<String>, BoxError> {
        let value = payload.get(pointer)?;
        Ok(value
            .and_then(|value| value.string())
            .map(|text| text.into_owned()))
    };
    let name = match text("/params/name")? {
        Some(name) => Some(name),
        None => text("/name")?,
    };
    if let Some(name) = name {
        let known = ROSTER.iter().find(|(_, tools)| tools.contains(&&*name));
        return Ok(known.map_or(name, |(server, _)| (*server).to_owned()));
    }
    let uri = match text("/params/uri")? {
        Some(uri) => Some(uri),
        None => text("/uri")?,
    };
    if let Some((scheme, rest)) = uri.as_deref().and_then(|uri| uri.split_once("://")) {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        return Ok(if authority.is_empty() { scheme } else { authority }.to_owned());
    }
    let namespace = event.split('/').next().filter(|namespace| !namespace.is_empty());
    Ok(namespace.unwrap_or("unknown").to_owned())
}

#[derive(Default)]
struct Tainted {
    /// Where each secret was read first.
    origins: HashMap<String, String>,
    in_flight: Option<String>,
}

/// The validator: what was read from one server does not go to another.
#[derive(Clone, Default)]
pub(crate) struct Guard(Arc<Mutex<HashMap<String, Tainted>>>);

impl Guard {
    pub(crate) fn judge(&self, invocation: &Invocation) -> Result<ValidationResult, BoxError> {
        let context = &invocation.context;
        let key = context.session_id.as_deref().or(context.trace_id.as_deref());
        let named = server_of(&invocation.event, &invocation.payload)?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.entry(key.unwrap_or("default").to_owned()).or_default();
        let secrets = find(invocation.payload.as_json());
        if invocation.phase == Phase::Request {
            for (format, secret) in secrets {
                if let Some(origin) = session.origins.get(secret).filter(|origin| **origin != named) {
                    return Ok(ValidationResult::fail(format!(
                        "cross-boundary secret flow: {format} read from '{origin}' may not be sent to '{named}'"
                    )));
                }
            }
            session.in_flight = Some(named.clone());
            let info = json!({"target": named, "tainted": session.origins.len()});
            return Ok(ValidationResult::pass().with_info(info));
        }
        let origin = session.in_flight.clone().unwrap_or(named);
        let mut ingested = 0;
        for (_, secret) in secrets {
            if !session.origins.contains_key(secret) {
                session.origins.insert(secret.to_owned(), origin.clone());
                ingested += 1;
            }
        }
        let info = json!({"origin": origin, "ingested": ingested, "tainted": session.origins.len()});
        Ok(ValidationResult::pass().with_info(info))
    }
}
