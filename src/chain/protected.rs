//! What a mutator may not change: the members that say what a message is and whom it concerns.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Failure;
use crate::{
    interceptor::Phase,
    message::{JsonKind, Payload, PayloadError, View},
};

/// A member that mutators keep unless the chain frees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protected {
    /// The tool or prompt that is called (`name`).
    Name,
    /// The resource that is read or subscribed to (`uri`).
    Uri,
    /// The server's opaque `requestState`.
    RequestState,
    /// `_meta.progressToken`, `progressToken` and `requestId`, and the protocol's own keys in `_meta`.
    Protocol,
}

const MEMBERS: [(&str, Protected); 5] = [
    ("name", Protected::Name),
    ("uri", Protected::Uri),
    ("requestState", Protected::RequestState),
    ("progressToken", Protected::Protocol),
    ("requestId", Protected::Protocol),
];

/// `after` with the protected members of `before` put back.
pub(super) fn keep(
    phase: Phase,
    before: &Payload,
    after: Payload,
    freed: &[Protected],
) -> Result<Payload, Failure> {
    restore(phase, before, after, freed).map_err(|error| Failure::Malformed(error.to_string()))
}

fn restore(
    phase: Phase,
    before: &Payload,
    mut after: Payload,
    freed: &[Protected],
) -> Result<Payload, PayloadError> {
    let old = before.view()?;
    if old.kind() != JsonKind::Object {
        return Ok(after);
    }
    for (member, what) in MEMBERS {
        // A result's `name` or `uri` is content, not an address.
        let applies = phase == Phase::Request || what == Protected::RequestState;
        if applies && !freed.contains(&what) {
            keep_one(old, &mut after, &format!("/{member}"), member)?;
        }
    }
    if !freed.contains(&Protected::Protocol) {
        keep_meta(old, &mut after)?;
    }
    Ok(after)
}

fn keep_one(old: View<'_>, after: &mut Payload, pointer: &str, member: &str) -> Result<(), PayloadError> {
    let was = old.get(member).map(View::raw);
    if after.get(pointer)?.map(View::raw) == was {
        return Ok(());
    }
    match was {
        Some(was) => put(after, pointer, was),
        None => after.remove(pointer).map(drop),
    }
}

fn keep_meta(old: View<'_>, after: &mut Payload) -> Result<(), PayloadError> {
    let was: Vec<(Cow<'_, str>, View<'_>)> = protocol_keys(old.get("_meta"));
    let is: Vec<String> = protocol_keys(after.get("/_meta")?)
        .into_iter()
        .map(|(key, _)| key.into_owned())
        .collect();
    for key in is.iter().filter(|key| !was.iter().any(|(old, _)| old == *key)) {
        after.remove(&pointer(key))?;
    }
    for (key, value) in was {
        let pointer = pointer(&key);
        if after.get(&pointer)?.map(View::raw) != Some(value.raw()) {
            if after
                .get("/_meta")?
                .is_none_or(|meta| meta.kind() != JsonKind::Object)
            {
                put(after, "/_meta", "{}")?;
            }
            put(after, &pointer, value.raw())?;
        }
    }
    Ok(())
}

fn pointer(key: &str) -> String {
    format!("/_meta/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn put(payload: &mut Payload, pointer: &str, json: &str) -> Result<(), PayloadError> {
    let raw: &RawValue =
        serde_json::from_str(json).map_err(|error| PayloadError::Decode(error.to_string().into()))?;
    payload.set(pointer, raw)
}

/// Prefixes whose second label is `modelcontextprotocol` or `mcp` belong to the protocol (2025-11-25, `_meta`).
fn protocol_keys(meta: Option<View<'_>>) -> Vec<(Cow<'_, str>, View<'_>)> {
    let is_reserved = |key: &str| {
        let label = key
            .split_once('/')
            .and_then(|(prefix, _)| prefix.split('.').nth(1));
        matches!(label, Some("modelcontextprotocol" | "mcp")) || key == "progressToken"
    };
    meta.map(|meta| meta.members().filter(|(key, _)| is_reserved(key)).collect())
        .unwrap_or_default()
}
