//! Which interceptors run for which event: worked out once, when the chain is built.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use super::Entry;
use crate::{
    interceptor::{EventPattern, InterceptorType, Phase, needs_exact_hook},
    message::event_hash,
};

/// What runs for one event in one phase, as indices into the chain's entries.
#[derive(Debug, Default, Clone)]
pub(crate) struct Plan {
    /// In the order in which they run.
    pub(crate) mutators: Vec<usize>,
    /// In the order of declaration, in which they are reported.
    pub(crate) validators: Vec<usize>,
    pub(crate) sinks: Vec<usize>,
    /// Whether one of them asks for error answers.
    pub(crate) errors: bool,
    /// Whether one of them wants to see the request with its answer.
    pub(crate) with_request: bool,
    /// Whether one of them must see the payload: what it cannot be shown does not pass.
    pub(crate) enforced: bool,
}

impl Plan {
    fn of(entries: &[Entry], phase: Phase, hooked: impl Fn(&EventPattern) -> bool) -> Self {
        let mut plan = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            if !entry
                .hooks
                .iter()
                .any(|hook| hook.phase == phase && hook.events.iter().any(&hooked))
            {
                continue;
            }
            match entry.kind {
                InterceptorType::Mutation => plan.mutators.push(index),
                InterceptorType::Validation => plan.validators.push(index),
                InterceptorType::Sink => plan.sinks.push(index),
                // The builder has refused or warned about it.
                InterceptorType::Unknown(_) => continue,
            }
            plan.errors |= entry.errors;
            plan.with_request |= entry.with_request;
            plan.enforced |= entry.must_see();
        }
        // Stable: equal priorities and names of two servers stay in the servers' order.
        plan.mutators
            .sort_by_key(|index| (entries[*index].priority(phase), entries[*index].name.as_bytes()));
        plan
    }

    /// One of those that run, to name.
    pub(crate) fn first(&self) -> Option<usize> {
        let mut all = self.validators.iter().chain(&self.mutators).chain(&self.sinks);
        all.next().copied()
    }

    fn is_empty(&self) -> bool {
        self.mutators.is_empty() && self.validators.is_empty() && self.sinks.is_empty()
    }
}

#[derive(Debug, Default)]
struct PerPhase {
    request: Plan,
    response: Plan,
}

impl PerPhase {
    fn of(entries: &[Entry], hooked: impl Fn(&EventPattern) -> bool) -> Self {
        Self {
            request: Plan::of(entries, Phase::Request, &hooked),
            response: Plan::of(entries, Phase::Response, &hooked),
        }
    }

    fn get(&self, phase: Phase) -> Option<&Plan> {
        let plan = match phase {
            Phase::Request => &self.request,
            Phase::Response => &self.response,
        };
        (!plan.is_empty()).then_some(plan)
    }
}

/// The plans of an event, or of all events with a prefix.
type Named = (Box<[u8]>, PerPhase);

/// All plans of a chain. An event nobody hooks costs one look-up by hash.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// The events that are hooked by name; a hash that two of them share has both.
    exact: HashMap<u64, Vec<Named>, BuildHasherDefault<Identity>>,
    /// `ns/` prefixes, the longest first, and last the empty one, which is `*`.
    prefixes: Vec<Named>,
    any: bool,
    /// An answer is hooked by one that must see it.
    enforced_response: bool,
    any_server_request: bool,
    /// A server's request or notification is hooked by one that must see it.
    enforced_server_request: bool,
}

/// The namespaces and methods that no server sends in any revision.
fn only_clients_send(pattern: &EventPattern) -> bool {
    let name = pattern.as_str();
    let namespaces = [
        "tools/",
        "prompts/",
        "resources/",
        "completion/",
        "logging/",
        "subscriptions/",
        "server/",
    ];
    name == "initialize" || namespaces.iter().any(|namespace| name.starts_with(namespace))
}

impl Plans {
    pub(crate) fn new(entries: &[Entry]) -> Self {
        let patterns = || {
            entries
                .iter()
                .flat_map(|entry| &entry.hooks)
                .flat_map(|hook| &hook.events)
        };
        let mut plans = Self::default();
        for name in patterns().filter_map(EventPattern::as_exact) {
            let same_hash = plans.exact.entry(event_hash(name.as_bytes())).or_default();
            if !same_hash.iter().any(|(known, _)| **known == *name.as_bytes()) {
                let plan = PerPhase::of(entries, |pattern| pattern.matches(name));
                same_hash.push((name.as_bytes().into(), plan));
            }
        }
        for pattern in patterns().filter(|pattern| pattern.as_exact().is_none()) {
            let prefix = pattern.as_namespace().unwrap_or_default();
            if !plans
                .prefixes
                .iter()
                .any(|(known, _)| **known == *prefix.as_bytes())
            {
                // What covers this whole pattern covers each event that only it (or a wider one) matches.
                let plan = PerPhase::of(entries, |other| other.covers(pattern));
                plans.prefixes.push((prefix.as_bytes().into(), plan));
            }
        }
        plans
            .prefixes
            .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        plans.any = patterns().next().is_some();
        for entry in entries {
            let answers = entry.hooks.iter().any(|hook| hook.phase == Phase::Response);
            let server_requests = entry.hooks.iter().any(|hook| {
                hook.phase == Phase::Request && hook.events.iter().any(|event| !only_clients_send(event))
            });
            plans.enforced_response |= answers && entry.must_see();
            plans.any_server_request |= server_requests;
            plans.enforced_server_request |= server_requests && entry.must_see();
        }
        plans
    }

    /// Whether a request of a server can be hooked.
    pub(crate) fn any_server_request(&self) -> bool {
        self.any_server_request
    }

    /// Whether anything is hooked at all.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Whether any answer must be seen.
    pub(crate) fn enforced_response(&self) -> bool {
        self.enforced_response
    }

    /// Whether what a server sends unasked must be seen.
    pub(crate) fn enforced_server_request(&self) -> bool {
        self.enforced_server_request
    }

    /// What runs for an event; `None` when nothing does. `hash` must be that of `event`.
    pub(crate) fn get(&self, hash: u64, event: &[u8], phase: Phase) -> Option<&Plan> {
        if !self.any {
            return None;
        }
        let same_hash = self.exact.get(&hash).into_iter().flatten();
        if let Some((_, plan)) = same_hash.into_iter().find(|(name, _)| **name == *event) {
            return plan.get(phase);
        }
        let (_, plan) = self
            .prefixes
            .iter()
            .find(|(prefix, _)| event.starts_with(prefix))?;
        if std::str::from_utf8(event).is_ok_and(needs_exact_hook) {
            None
        } else {
            plan.get(phase)
        }
    }
}

/// The keys are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = event_hash(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
