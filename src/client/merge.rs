//! One chain over many servers.

use std::{collections::HashMap, sync::Arc};

use tokio::{sync::Notify, time::Instant};

use super::{
    DiscoveryError, InterceptorServer, RemoteInterceptor, Required,
    require::{failing, stand_in},
};
use crate::{
    chain::{Chain, ChainBuilder},
    interceptor::{Descriptor, EventPattern, Hook, Interceptor, Phase},
};

/// What becomes of two interceptors of the same name on different servers (or one of them in process).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DuplicateNames {
    /// Both run, each on its own server.
    #[default]
    Allow,
    /// There is no chain; the error names both servers.
    Reject,
    /// Only the first runs, in the order of the servers; those in process come before all. One that is required
    /// runs in any case.
    FirstWins,
}

/// Changes each remote interceptor before it gets into the chain.
pub(super) type Wrap = Arc<dyn Fn(Interceptor) -> Interceptor + Send + Sync>;

/// How a chain is put together.
pub(super) struct Recipe {
    pub(super) base: ChainBuilder,
    pub(super) required: Vec<Required>,
    pub(super) duplicates: DuplicateNames,
    pub(super) events: Option<Vec<EventPattern>>,
    pub(super) wrap: Option<Wrap>,
    pub(super) doubt: Arc<Notify>,
}

/// What is known of one server.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) server: InterceptorServer,
    pub(super) descriptors: Arc<[Descriptor]>,
    pub(super) version: Option<String>,
    pub(super) at: Instant,
    /// The list is too old to be believed.
    pub(super) expired: bool,
}

/// Who in process is named in errors.
const IN_PROCESS: &str = "(in process)";

impl Recipe {
    /// The chain of these lists. At the start everything must be as the operator says; later, what is not is
    /// blocked.
    pub(super) fn chain(&self, servers: &[Listed], at_start: bool) -> Result<Chain, DiscoveryError> {
        let mut builder = self.base.clone();
        let mut seen: HashMap<String, Arc<str>> = self
            .base
            .names()
            .map(|name| (name.to_owned(), IN_PROCESS.into()))
            .collect();
        for listed in servers {
            let host = listed.server.shared_name();
            for descriptor in &*listed.descriptors {
                let required = self.requirement(host, &descriptor.name);
                let first = seen
                    .entry(descriptor.name.clone())
                    .or_insert_with(|| Arc::clone(host));
                if !Arc::ptr_eq(first, host) {
                    match self.duplicates {
                        DuplicateNames::Allow => {}
                        DuplicateNames::FirstWins if required.is_some() => {}
                        DuplicateNames::FirstWins => {
                            tracing::warn!(
                                name = ?descriptor.name, server = %host, first = %first,
                                "an interceptor does not run: another server has one of that name"
                            );
                            continue;
                        }
                        DuplicateNames::Reject => {
                            return Err(DiscoveryError::DuplicateName {
                                name: descriptor.name.clone(),
                                servers: [first.to_string(), host.to_string()],
                            });
                        }
                    }
                }
                builder = builder.interceptor(self.interceptor(listed, descriptor, required, at_start)?);
            }
        }
        for required in &self.required {
            let listed = servers
                .iter()
                .find(|listed| *listed.server.name() == *required.server);
            let is_listed = listed.is_some_and(|listed| {
                listed
                    .descriptors
                    .iter()
                    .any(|descriptor| *descriptor.name == *required.name)
            });
            if !is_listed {
                let why = self.alarm(required, None, at_start)?;
                builder = builder.interceptor(self.narrowed(required.stand_in(None, &why)));
            }
        }
        let chain = if at_start {
            builder.build()
        } else {
            builder.rebuild()
        };
        chain.map_err(DiscoveryError::Chain)
    }

    fn requirement(&self, server: &str, name: &str) -> Option<&Required> {
        self.required
            .iter()
            .find(|required| *required.server == *server && *required.name == *name)
    }

    fn interceptor(
        &self,
        listed: &Listed,
        descriptor: &Descriptor,
        required: Option<&Required>,
        at_start: bool,
    ) -> Result<Interceptor, DiscoveryError> {
        let host = listed.server.shared_name();
        if let Some(required) = required
            && required.missing_from(Some(descriptor)).is_some()
        {
            let why = self.alarm(required, Some(descriptor), at_start)?;
            return Ok(self.narrowed(required.stand_in(Some(descriptor), &why)));
        }
        if listed.expired {
            let mut hooks = descriptor.hooks.clone();
            hooks.extend(required.into_iter().flat_map(|required| required.hooks.clone()));
            let why = "the list of its server is too old";
            return Ok(self.narrowed(stand_in(host, &descriptor.name, &descriptor.kind, hooks, why)));
        }
        let mut narrowed = descriptor.clone();
        narrowed.hooks = self.narrow(&narrowed.hooks);
        if let (Some(compat), Some(version)) = (&descriptor.compat, &listed.version)
            && !compat.admits(version)
        {
            let why = format!("it is not made for the protocol version {version} of its server");
            tracing::warn!(name = ?descriptor.name, server = %host, "{why}");
            return Ok(failing(narrowed, &why).hosted_by(Arc::clone(host)));
        }
        let service = RemoteInterceptor::new(listed.server.clone()).doubting(Arc::clone(&self.doubt));
        let interceptor = Interceptor::new(narrowed, service).hosted_by(Arc::clone(host));
        Ok(match &self.wrap {
            Some(wrap) => wrap(interceptor),
            None => interceptor,
        })
    }

    fn alarm(
        &self,
        required: &Required,
        descriptor: Option<&Descriptor>,
        at_start: bool,
    ) -> Result<String, DiscoveryError> {
        let why = required.missing_from(descriptor).unwrap_or_default();
        if at_start {
            return Err(DiscoveryError::Required {
                server: required.server.to_string(),
                name: required.name.to_string(),
                reason: why,
            });
        }
        tracing::error!(
            server = ?required.server, name = ?required.name, reason = %why,
            "ALARM: a required interceptor is not as it must be; its events are blocked"
        );
        Ok(format!("it is required, and not as it must be: {why}"))
    }

    fn narrowed(&self, stand_in: Interceptor) -> Interceptor {
        let hooks = self.narrow(&stand_in.descriptor().hooks);
        stand_in.with_hooks(hooks)
    }

    /// What remains of hooks when only some events are intercepted at all.
    fn narrow(&self, hooks: &[Hook]) -> Vec<Hook> {
        let Some(wanted) = &self.events else {
            return hooks.to_vec();
        };
        let both = |pattern: &EventPattern| {
            let common = |wanted: &EventPattern| {
                if wanted.is_any() || wanted.covers(pattern) {
                    Some(pattern.clone())
                } else {
                    pattern.covers(wanted).then(|| wanted.clone())
                }
            };
            wanted.iter().filter_map(common).collect::<Vec<_>>()
        };
        hooks
            .iter()
            .map(|hook| Hook::new(hook.phase, hook.events.iter().flat_map(both)))
            .filter(|hook| !hook.events.is_empty())
            .collect()
    }

    /// The chain of last resort: nothing passes.
    pub(super) fn closed(&self, why: &str) -> Result<Chain, DiscoveryError> {
        let hooks = Phase::ALL.iter().map(|phase| Hook::all(*phase)).collect();
        let all = stand_in(
            &"discovery".into(),
            "closed",
            &crate::interceptor::InterceptorType::Validation,
            hooks,
            why,
        );
        let chain = Chain::builder().interceptor(self.narrowed(all)).build();
        chain.map_err(DiscoveryError::Chain)
    }
}
