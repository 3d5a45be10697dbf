//! How a client of either era is greeted, and what the rules of its era ask of a request.

use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{LEGACY_VERSIONS, MODERN_VERSIONS, errors::Refusal, host::Host};
use crate::message::{Era, Message};

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const CLIENT_CAPABILITIES: &str = "/_meta/io.modelcontextprotocol~1clientCapabilities";

/// Whether it is to be judged by the rules of 2026-07-28: it says so itself, in its body, its headers, or by asking
/// what only that era asks.
pub(super) fn is_modern(message: &Message) -> bool {
    message.era() == Era::Modern
        || message.is_request("server/discover")
        || header(message, VERSION_HEADER).is_some_and(|version| version >= MODERN_VERSIONS[0])
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    // One that is no text is not the one in the body either.
    let value = message.exchange().http()?.headers.get(name)?;
    Some(value.to_str().unwrap_or("").trim())
}

/// What every modern request must fulfil; a legacy one has no such rules.
pub(super) fn check(message: &Message) -> Result<(), Refusal> {
    if !is_modern(message) {
        return Ok(());
    }
    let Some(version) = message.protocol_version() else {
        return Err(Refusal::missing_meta("io.modelcontextprotocol/protocolVersion"));
    };
    if message.exchange().http().is_some() {
        if header(message, VERSION_HEADER) != Some(version) {
            return Err(Refusal::header_mismatch(
                "the header MCP-Protocol-Version and the body differ",
            ));
        }
        if header(message, METHOD_HEADER) != message.method() {
            return Err(Refusal::header_mismatch(
                "the header Mcp-Method and the body differ",
            ));
        }
    }
    if !MODERN_VERSIONS.contains(&version) {
        return Err(Refusal::unsupported_version(version));
    }
    let capabilities = message.payload().get(CLIENT_CAPABILITIES).ok().flatten();
    if !capabilities.is_some_and(|view| view.raw().starts_with('{')) {
        return Err(Refusal::missing_meta(
            "io.modelcontextprotocol/clientCapabilities",
        ));
    }
    Ok(())
}

#[derive(Serialize)]
struct ServerInfo<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> ServerInfo<'a> {
    fn of(host: &'a Host) -> Self {
        Self {
            name: &host.name,
            version: &host.version,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialized<'a> {
    protocol_version: &'a str,
    capabilities: &'a RawValue,
    server_info: ServerInfo<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

/// The handshake: the client's version if it is served, else the newest.
pub(super) fn initialize(host: &Host, message: &Message) -> Result<Box<RawValue>, Refusal> {
    let wanted = message
        .payload()
        .get("/protocolVersion")
        .ok()
        .flatten()
        .and_then(|version| version.string());
    let Some(wanted) = wanted else {
        return Err(Refusal::invalid_params("`protocolVersion` must be a text"));
    };
    let served = LEGACY_VERSIONS.iter().find(|version| **version == wanted);
    Ok(raw(&Initialized {
        protocol_version: served.unwrap_or(&LEGACY_VERSIONS[0]),
        capabilities: &host.capabilities,
        server_info: ServerInfo::of(host),
        instructions: host.instructions.as_deref(),
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovered<'a> {
    result_type: &'a str,
    supported_versions: &'a [&'a str],
    capabilities: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    ttl_ms: u64,
    cache_scope: &'a str,
    #[serde(rename = "_meta")]
    meta: Value,
}

/// What a modern client asks in place of a handshake. It is the same for everybody, and for as long as the server
/// runs; an hour lets a client find out about a new build.
pub(super) fn discover(host: &Host) -> Box<RawValue> {
    raw(&Discovered {
        result_type: "complete",
        supported_versions: &MODERN_VERSIONS,
        capabilities: &host.capabilities,
        instructions: host.instructions.as_deref(),
        ttl_ms: 3_600_000,
        cache_scope: "public",
        meta: json!({"io.modelcontextprotocol/serverInfo": ServerInfo::of(host)}),
    })
}

/// A value of ours as raw text; those cannot fail to serialise.
pub(super) fn raw<T: Serialize>(value: &T) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_default()
}
