//! What an interceptor says about itself.

use std::error::Error;
use std::fmt;

use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::hook_forms::take_hooks;
use super::members::{Members, raw, text};
use super::{Compat, Hook, InterceptorType, Mode, Phase, PriorityHint};

/// What an interceptor says about itself (SEP-2624, `Interceptor`).
///
/// Written strictly: members in the SEP's order, `hooks` as an array, defaults left out, members this crate
/// does not know at the end. Read tolerantly: the three older forms of hooks, `enforce` and `observability`,
/// whole floats as priorities, `null` for absent.
///
/// ```
/// use mcp_interceptors::interceptor::{Descriptor, InterceptorType, Phase};
///
/// let read: Descriptor = serde_json::from_str(
///     r#"{"name":"audit-log","type":"observability","events":["*"],"phase":"both","mode":"audit"}"#,
/// )?;
/// assert_eq!(read.kind, InterceptorType::Sink);
/// assert!(read.is_hooked("tools/call", Phase::Response));
/// assert_eq!(
///     serde_json::to_string(&read)?,
///     r#"{"name":"audit-log","type":"sink","hooks":[{"events":["*"],"phase":"request"},{"events":["*"],"phase":"response"}],"mode":"audit"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Descriptor {
    /// Its name, never empty.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// What it is for, for people.
    pub description: Option<String>,
    /// Its type (`type` on the wire).
    pub kind: InterceptorType,
    /// When it runs.
    pub hooks: Vec<Hook>,
    /// Whether its answers take effect.
    pub mode: Mode,
    /// Whether a message passes when the interceptor fails (crashes, times out, answers nonsense). A verdict
    /// that was delivered is never overruled by it.
    pub fail_open: bool,
    /// Its place among the mutators.
    pub priority_hint: Option<PriorityHint>,
    /// The protocol versions it is for.
    pub compat: Option<Compat>,
    /// The JSON Schema of its configuration.
    pub config_schema: Option<Box<RawValue>>,
    /// `_meta`. The SEP is silent about it, but implementations have it.
    pub meta: Option<Box<RawValue>>,
    /// Members this crate does not know.
    pub extra: Members,
}

impl Descriptor {
    /// A descriptor with the SEP's defaults and no hooks.
    ///
    /// # Errors
    /// When the name is empty.
    pub fn new(name: impl Into<String>, kind: InterceptorType) -> Result<Self, EmptyName> {
        let name = name.into();
        if name.is_empty() {
            Err(EmptyName)
        } else {
            Ok(Self::named(name, kind))
        }
    }

    /// The same for a name that is checked later: a chain refuses an empty one.
    pub(crate) fn named(name: String, kind: InterceptorType) -> Self {
        Self {
            name,
            version: None,
            description: None,
            kind,
            hooks: Vec::new(),
            mode: Mode::Active,
            fail_open: false,
            priority_hint: None,
            compat: None,
            config_schema: None,
            meta: None,
            extra: Members::new(),
        }
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a hook.
    #[must_use]
    pub fn with_hook(mut self, hook: Hook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Sets the mode.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether messages pass when the interceptor fails.
    #[must_use]
    pub fn with_fail_open(mut self, fail_open: bool) -> Self {
        self.fail_open = fail_open;
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn with_priority(mut self, priority: impl Into<PriorityHint>) -> Self {
        self.priority_hint = Some(priority.into());
        self
    }

    /// Sets the protocol versions.
    #[must_use]
    pub fn with_compat(mut self, compat: Compat) -> Self {
        self.compat = Some(compat);
        self
    }

    /// Sets the JSON Schema of the configuration.
    #[must_use]
    pub fn with_config_schema(mut self, schema: impl Into<Value>) -> Self {
        self.config_schema = Some(raw(schema));
        self
    }

    /// Whether a hook matches an event in a phase.
    #[must_use]
    pub fn is_hooked(&self, event: &str, phase: Phase) -> bool {
        self.hooks.iter().any(|hook| hook.matches(event, phase))
    }

    /// Whether a hook matches an event in any phase: the filter of `interceptors/list`.
    #[must_use]
    pub fn is_hooked_in_any_phase(&self, event: &str) -> bool {
        Phase::ALL.iter().any(|phase| self.is_hooked(event, *phase))
    }

    /// The declared priority in a phase, 0 if there is none.
    #[must_use]
    pub fn priority(&self, phase: Phase) -> i32 {
        self.priority_hint.map_or(0, |hint| hint.resolve(phase))
    }
}

impl PartialEq for Descriptor {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        let parts = |d: &Self| (d.fail_open, d.mode, d.priority_hint);
        self.name == other.name
            && self.version == other.version
            && self.description == other.description
            && self.kind == other.kind
            && self.hooks == other.hooks
            && parts(self) == parts(other)
            && self.compat == other.compat
            && text(self.config_schema.as_deref()) == text(other.config_schema.as_deref())
            && text(self.meta.as_deref()) == text(other.meta.as_deref())
            && self.extra == other.extra
    }
}

impl Serialize for Descriptor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.name.is_empty() {
            return Err(S::Error::custom(EmptyName));
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(version) = &self.version {
            map.serialize_entry("version", version)?;
        }
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("hooks", &self.hooks)?;
        if !self.mode.is_active() {
            map.serialize_entry("mode", &self.mode)?;
        }
        if self.fail_open {
            map.serialize_entry("failOpen", &true)?;
        }
        if let Some(hint) = &self.priority_hint {
            map.serialize_entry("priorityHint", hint)?;
        }
        if let Some(compat) = &self.compat {
            map.serialize_entry("compat", compat)?;
        }
        if let Some(schema) = &self.config_schema {
            map.serialize_entry("configSchema", schema)?;
        }
        if let Some(meta) = &self.meta {
            map.serialize_entry("_meta", meta)?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Descriptor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let m = &mut members;
        let name: String = m.need("name")?;
        if name.is_empty() {
            return Err(D::Error::custom(EmptyName));
        }
        Ok(Self {
            name,
            version: m.take_as("version")?,
            description: m.take_as("description")?,
            kind: m.need("type")?,
            hooks: take_hooks(m)?,
            mode: m.take_as("mode")?.unwrap_or_default(),
            fail_open: m.take_as("failOpen")?.unwrap_or_default(),
            priority_hint: m.take_as("priorityHint")?,
            compat: m.take_as("compat")?,
            config_schema: m.take("configSchema"),
            meta: m.take("_meta"),
            extra: members,
        })
    }
}

/// An interceptor must have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyName;

impl fmt::Display for EmptyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an interceptor must have a name")
    }
}

impl Error for EmptyName {}

#[cfg(test)]
mod tests;
