//! What a server hosts.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::{old::OldDialect, schema::ConfigSchema};
use crate::{
    chain::Entry,
    interceptor::{Descriptor, Interceptor, InterceptorsCapability},
};

/// A hosted interceptor.
pub(super) struct Hosted {
    pub(super) interceptor: Interceptor,
    pub(super) entry: Entry,
    pub(super) schema: Option<ConfigSchema>,
}

impl Hosted {
    pub(super) fn descriptor(&self) -> &Descriptor {
        self.interceptor.descriptor()
    }
}

/// Everything a server knows; shared by its clones.
pub(super) struct Host {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) instructions: Option<String>,
    /// In the order in which they were registered.
    pub(super) hosted: Vec<Hosted>,
    pub(super) by_name: HashMap<String, usize>,
    pub(super) capability: InterceptorsCapability,
    pub(super) capabilities: Box<RawValue>,
    pub(super) default_timeout: Duration,
    pub(super) max_timeout: Duration,
    pub(super) old: Option<OldDialect>,
}

impl Host {
    pub(super) fn find(&self, name: &str) -> Option<&Hosted> {
        self.by_name.get(name).map(|index| &self.hosted[*index])
    }
}

pub(super) type SharedHost = Arc<Host>;
