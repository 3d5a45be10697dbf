//! How a server says that it has interceptors.

use std::collections::BTreeSet;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::members::raw_of;
use super::{Descriptor, Members};

/// The key of the capability: the extension's identifier, under `capabilities.extensions`.
pub const CAPABILITY_KEY: &str = "io.modelcontextprotocol/interceptors";

/// Where the capability is written, as a JSON Pointer into `capabilities`.
pub const CAPABILITY_POINTER: &str = "/extensions/io.modelcontextprotocol~1interceptors";

/// Where the capability is or was, newest first.
const PLACES: [(&str, &str); 4] = [
    ("extensions", CAPABILITY_KEY),
    ("extensions", "interceptors"),
    ("experimental", CAPABILITY_KEY),
    ("experimental", "interceptors"),
];

/// The settings of the interceptors capability (SEP-2624).
///
/// It is written under [`CAPABILITY_KEY`] in `extensions`, and read from there, from the short key
/// `interceptors`, and from the same two keys in `experimental`, where earlier drafts had it.
///
/// ```
/// use mcp_interceptors::interceptor::InterceptorsCapability;
///
/// let capability = InterceptorsCapability::new(["tools/call", "*"]);
/// let written = serde_json::to_string(&capability.to_capabilities())?;
/// assert_eq!(
///     written,
///     r#"{"extensions":{"io.modelcontextprotocol/interceptors":{"supportedEvents":["*","tools/call"]}}}"#
/// );
/// assert_eq!(InterceptorsCapability::from_capabilities(&written)?, Some(capability));
/// assert_eq!(InterceptorsCapability::from_capabilities(r#"{"tools":{}}"#)?, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InterceptorsCapability {
    /// The events that some interceptor hooks. What is made here is sorted and names each once; empty when the
    /// peer does not say.
    pub supported_events: Vec<String>,
    /// Members this crate does not know.
    pub extra: Members,
}

impl InterceptorsCapability {
    /// The settings for these events.
    #[must_use]
    pub fn new<E: Into<String>>(events: impl IntoIterator<Item = E>) -> Self {
        let events: BTreeSet<String> = events.into_iter().map(Into::into).collect();
        Self {
            supported_events: events.into_iter().collect(),
            extra: Members::new(),
        }
    }

    /// The settings for what these interceptors hook.
    #[must_use]
    pub fn of<'a>(descriptors: impl IntoIterator<Item = &'a Descriptor>) -> Self {
        Self::new(supported_events(descriptors))
    }

    /// Reads the settings out of the `capabilities` object of an initialize or discover result.
    ///
    /// # Errors
    /// When that is no JSON object, or the settings are there but are not what they must be.
    pub fn from_capabilities(capabilities: &str) -> Result<Option<Self>, serde_json::Error> {
        let mut capabilities: Members = serde_json::from_str(capabilities)?;
        for (group, key) in PLACES {
            let Some(members) = capabilities.get(group) else {
                continue;
            };
            // Another extension's oddities are not ours to judge.
            let Ok(mut members) = serde_json::from_str::<Members>(members.get()) else {
                capabilities.remove(group);
                continue;
            };
            if let Some(settings) = members.take(key) {
                return serde_json::from_str(settings.get()).map(Some);
            }
        }
        Ok(None)
    }

    /// A `capabilities` object with nothing else in it.
    #[must_use]
    pub fn to_capabilities(&self) -> Members {
        let within = |key: &str, value: Box<RawValue>| {
            let mut members = Members::new();
            members.insert(key, value);
            members
        };
        within("extensions", raw_of(&within(CAPABILITY_KEY, raw_of(self))))
    }
}

/// The events that some hook of these interceptors names, sorted, each once; `*` stands for itself.
#[must_use]
pub fn supported_events<'a>(descriptors: impl IntoIterator<Item = &'a Descriptor>) -> Vec<String> {
    let hooks = descriptors.into_iter().flat_map(|descriptor| &descriptor.hooks);
    let events: BTreeSet<&str> = hooks
        .flat_map(|hook| &hook.events)
        .map(|event| event.as_str())
        .collect();
    events.into_iter().map(str::to_owned).collect()
}

impl Serialize for InterceptorsCapability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("supportedEvents", &self.supported_events)?;
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for InterceptorsCapability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        Ok(Self {
            supported_events: members.take_as("supportedEvents")?.unwrap_or_default(),
            extra: members,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interceptor::{Hook, InterceptorType, Phase};

    fn read(capabilities: &str) -> Option<Vec<String>> {
        InterceptorsCapability::from_capabilities(capabilities)
            .unwrap()
            .map(|c| c.supported_events)
    }

    #[test]
    fn cs_102_py_038_the_settings_round_trip() {
        let json = r#"{"supportedEvents":["prompts/get","tools/call","tools/list"]}"#;
        let settings = InterceptorsCapability::new(["tools/list", "tools/call", "prompts/get", "tools/call"]);
        assert_eq!(serde_json::to_string(&settings).unwrap(), json);
        assert_eq!(
            serde_json::from_str::<InterceptorsCapability>(json).unwrap(),
            settings
        );
        let more = r#"{"supportedEvents":[],"modes":[1.10]}"#;
        let settings: InterceptorsCapability = serde_json::from_str(more).unwrap();
        assert_eq!(serde_json::to_string(&settings).unwrap(), more);
    }

    #[test]
    fn py_034_ts_143_supported_events_are_the_sorted_union() {
        let hooked = |name: &str, events: &[&str]| {
            Descriptor::new(name, InterceptorType::Sink)
                .unwrap()
                .with_hook(Hook::parse(Phase::Request, events.iter().copied()).unwrap())
                .with_hook(Hook::parse(Phase::Response, events.iter().copied()).unwrap())
        };
        let all = [
            hooked("a", &["tools/call", "llm/completion"]),
            hooked("b", &["*"]),
            hooked("c", &["tools/call"]),
        ];
        assert_eq!(
            InterceptorsCapability::of(&all).supported_events,
            ["*", "llm/completion", "tools/call"]
        );
    }

    #[test]
    fn py_074_py_075_py_076_the_capability_is_found_in_four_places() {
        // Spelled out, not taken from the table under test.
        for (group, key) in [
            ("extensions", "io.modelcontextprotocol/interceptors"),
            ("extensions", "interceptors"),
            ("experimental", "io.modelcontextprotocol/interceptors"),
            ("experimental", "interceptors"),
        ] {
            let json =
                format!(r#"{{"tools":{{}},"{group}":{{"x/y":1,"{key}":{{"supportedEvents":["a"]}}}}}}"#);
            assert_eq!(read(&json), Some(vec!["a".to_owned()]), "{json}");
        }
        for absent in [
            "{}",
            r#"{"extensions":{}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/interceptors":null}}"#,
            r#"{"extensions":null,"experimental":[]}"#,
            r#"{"interceptors":{"supportedEvents":["a"]}}"#,
        ] {
            assert_eq!(read(absent), None, "{absent}");
        }
    }

    #[test]
    fn the_newest_place_counts() {
        let json = r#"{"experimental":{"interceptors":{"supportedEvents":["old"]}},"extensions":{"io.modelcontextprotocol/interceptors":{"supportedEvents":["new"]}}}"#;
        assert_eq!(read(json), Some(vec!["new".to_owned()]));
        let broken = r#"{"extensions":7,"experimental":{"interceptors":{}}}"#;
        assert_eq!(read(broken), Some(vec![]));
    }

    #[test]
    fn settings_that_are_none_are_an_error() {
        for settings in ["true", "[]", r#"{"supportedEvents":"*"}"#] {
            let json = format!(r#"{{"extensions":{{"{CAPABILITY_KEY}":{settings}}}}}"#);
            assert!(
                InterceptorsCapability::from_capabilities(&json).is_err(),
                "{json}"
            );
        }
        assert!(InterceptorsCapability::from_capabilities("[]").is_err());
    }

    #[test]
    fn the_pointer_leads_to_where_the_capability_is_written() {
        let settings = InterceptorsCapability::new(["a"]);
        let written = serde_json::to_value(settings.to_capabilities()).unwrap();
        assert_eq!(
            written.pointer(CAPABILITY_POINTER).unwrap()["supportedEvents"][0],
            "a"
        );
    }
}
