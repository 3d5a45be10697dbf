//! Listing interceptors.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::reason::reason;
use super::{Descriptor, Members};

/// The params of `interceptors/list` (SEP-2624).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListInterceptorsParams {
    /// Only interceptors that hook this event in some phase.
    pub event: Option<String>,
    /// Where to go on. The SEP has no pages, but some implementations do.
    pub cursor: Option<String>,
    /// Members this crate does not know, for example `_meta`.
    pub extra: Members,
}

impl ListInterceptorsParams {
    /// All interceptors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only interceptors that hook this event.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// The page after.
    #[must_use]
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }
}

impl Serialize for ListInterceptorsParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(event) = &self.event {
            map.serialize_entry("event", event)?;
        }
        if let Some(cursor) = &self.cursor {
            map.serialize_entry("cursor", cursor)?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ListInterceptorsParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        Ok(Self {
            event: members.take_as("event")?,
            cursor: members.take_as("cursor")?,
            extra: members,
        })
    }
}

/// The result of `interceptors/list` (SEP-2624).
///
/// One entry that cannot be read does not make the list unreadable: it goes to `rejected`, so that whoever uses
/// the list can refuse to go on without it. An entry of an unknown *type* can be read and is among
/// `interceptors`.
///
/// ```
/// use mcp_interceptors::interceptor::ListInterceptorsResult;
///
/// let list: ListInterceptorsResult = serde_json::from_str(
///     r#"{"interceptors":[{"name":"a","type":"sink","hooks":[]},{"name":"b","type":"sink","mode":"??"}]}"#,
/// )?;
/// assert_eq!(list.interceptors.len(), 1);
/// assert_eq!(list.rejected[0].name.as_deref(), Some("b"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListInterceptorsResult {
    /// The interceptors, in the server's order.
    pub interceptors: Vec<Descriptor>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
    /// Entries that cannot be read. Never written.
    pub rejected: Vec<RejectedDescriptor>,
    /// Members this crate does not know.
    pub extra: Members,
}

impl ListInterceptorsResult {
    /// A list on a single page.
    #[must_use]
    pub fn new(interceptors: impl IntoIterator<Item = Descriptor>) -> Self {
        Self {
            interceptors: interceptors.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Says where the next page begins.
    #[must_use]
    pub fn with_next_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(cursor.into());
        self
    }
}

impl Serialize for ListInterceptorsResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("interceptors", &self.interceptors)?;
        if let Some(cursor) = &self.next_cursor {
            map.serialize_entry("nextCursor", cursor)?;
        }
        self.extra.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ListInterceptorsResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let entries: Vec<Box<RawValue>> = members
            .take_as("interceptors")?
            .ok_or_else(|| D::Error::missing_field("interceptors"))?;
        let mut result = Self {
            next_cursor: members.take_as("nextCursor")?,
            ..Self::default()
        };
        for (index, raw) in entries.into_iter().enumerate() {
            match serde_json::from_str(raw.get()) {
                Ok(descriptor) => result.interceptors.push(descriptor),
                Err(error) => {
                    result.rejected.push(RejectedDescriptor {
                        index,
                        name: name_of(&raw),
                        error: reason(&error),
                        raw,
                    });
                }
            }
        }
        result.extra = members;
        Ok(result)
    }
}

/// The name of an entry that cannot be read, if at least that can be.
fn name_of(raw: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(raw.get())
        .ok()
        .map(|named| named.name)
}

/// An entry of a list that cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RejectedDescriptor {
    /// Its place in the list, from 0.
    pub index: usize,
    /// Its name, if that can be read.
    pub name: Option<String>,
    /// What is wrong with it, for a log.
    pub error: String,
    /// The entry.
    pub raw: Box<RawValue>,
}

impl PartialEq for RejectedDescriptor {
    fn eq(&self, other: &Self) -> bool {
        (self.index, &self.name, self.raw.get()) == (other.index, &other.name, other.raw.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interceptor::{Hook, InterceptorType, Phase};

    #[test]
    fn cs_097_a_list_with_a_cursor_round_trips() {
        let descriptor = Descriptor::new("a", InterceptorType::Sink)
            .unwrap()
            .with_hook(Hook::all(Phase::Request));
        let list = ListInterceptorsResult::new([descriptor]).with_next_cursor("abc123");
        let json = r#"{"interceptors":[{"name":"a","type":"sink","hooks":[{"events":["*"],"phase":"request"}]}],"nextCursor":"abc123"}"#;
        assert_eq!(serde_json::to_string(&list).unwrap(), json);
        assert_eq!(
            serde_json::from_str::<ListInterceptorsResult>(json).unwrap(),
            list
        );
    }

    #[test]
    fn ts_133_unset_members_are_absent() {
        assert_eq!(
            serde_json::to_string(&ListInterceptorsResult::default()).unwrap(),
            r#"{"interceptors":[]}"#
        );
        assert_eq!(
            serde_json::to_string(&ListInterceptorsParams::new()).unwrap(),
            "{}"
        );
        for json in ["{}", r#"{"event":null,"cursor":null}"#] {
            assert_eq!(
                serde_json::from_str::<ListInterceptorsParams>(json).unwrap(),
                ListInterceptorsParams::new()
            );
        }
    }

    #[test]
    fn ts_134_params_and_unknown_members_round_trip() {
        let params = ListInterceptorsParams::new()
            .with_event("tools/call")
            .with_cursor("p2");
        assert_eq!(
            serde_json::to_string(&params).unwrap(),
            r#"{"event":"tools/call","cursor":"p2"}"#
        );
        let json = r#"{"event":"tools/call","_meta":{"n":1.10}}"#;
        let read: ListInterceptorsParams = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let json = r#"{"interceptors":[],"ttlMs":60000,"cacheScope":"private"}"#;
        let read: ListInterceptorsResult = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn one_odd_entry_does_not_fail_the_list() {
        let list: ListInterceptorsResult = serde_json::from_str(
            r#"{"interceptors":[
                {"name":"a","type":"quota","hooks":[]},
                {"name":"b","type":"sink","hooks":[],"priorityHint":"high"},
                17,
                {"name":"c","type":"sink","hooks":[]}]}"#,
        )
        .unwrap();
        let names: Vec<_> = list.interceptors.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert!(list.interceptors[0].kind.is_unknown());
        let rejected: Vec<_> = list
            .rejected
            .iter()
            .map(|r| (r.index, r.name.as_deref()))
            .collect();
        assert_eq!(rejected, [(1, Some("b")), (2, None)]);
        assert!(
            list.rejected[0].error.contains("priorityHint"),
            "{}",
            list.rejected[0].error
        );
        assert_eq!(list.rejected[1].raw.get(), "17");
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for json in ["{}", r#"{"interceptors":{}}"#, r#"{"interceptors":null}"#, "[]"] {
            assert!(
                serde_json::from_str::<ListInterceptorsResult>(json).is_err(),
                "{json}"
            );
        }
        assert!(serde_json::from_str::<ListInterceptorsParams>(r#"{"event":1}"#).is_err());
    }
}
