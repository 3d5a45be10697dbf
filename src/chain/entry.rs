//! One interceptor in a chain, its overrides applied.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::{BuildError, Overrides, sink_queue::SinkQueue};
use crate::interceptor::{
    Hook, Interceptor, InterceptorService, InterceptorType, Mode, Overflow, Phase, PriorityHint,
};

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Arc<str>,
    pub(crate) server: Option<Arc<str>>,
    pub(crate) kind: InterceptorType,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) mode: Mode,
    pub(crate) fail_open: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) config: Option<Arc<RawValue>>,
    pub(crate) errors: bool,
    pub(crate) with_request: bool,
    pub(crate) overflow: Overflow,
    pub(crate) service: InterceptorService,
    pub(crate) queue: SinkQueue,
    priority: PriorityHint,
}

impl Entry {
    pub(crate) fn new(interceptor: &Interceptor, overrides: Overrides) -> Result<Self, BuildError> {
        let descriptor = interceptor.descriptor();
        let settings = interceptor.settings();
        let hooks = match overrides.hooks {
            Some(narrowed) => {
                Hook::check_narrows(&descriptor.hooks, &narrowed)
                    .map_err(|error| BuildError::widens(&descriptor.name, &error))?;
                narrowed
            }
            None => descriptor.hooks.clone(),
        };
        Ok(Self {
            name: descriptor.name.as_str().into(),
            server: settings.server.clone(),
            kind: descriptor.kind.clone(),
            hooks,
            mode: overrides.mode.unwrap_or(descriptor.mode),
            fail_open: overrides.fail_open.unwrap_or(descriptor.fail_open),
            timeout: overrides.timeout.or(settings.timeout),
            config: overrides.config.or_else(|| settings.config.clone()),
            errors: settings.errors,
            with_request: settings.with_request,
            overflow: settings.overflow,
            service: interceptor.service(),
            queue: SinkQueue::default(),
            priority: overrides
                .priority
                .or(descriptor.priority_hint)
                .unwrap_or(PriorityHint::number(0)),
        })
    }

    pub(crate) fn priority(&self, phase: Phase) -> i32 {
        self.priority.resolve(phase)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.mode.is_active()
    }

    /// Whether, as a sink, it stops what it cannot record. An audit stops nothing.
    pub(crate) fn must_record(&self) -> bool {
        self.is_active() && self.overflow == Overflow::Block
    }

    /// Whether what it cannot be shown does not pass.
    pub(crate) fn must_see(&self) -> bool {
        match self.kind {
            InterceptorType::Sink => self.is_active() && self.overflow == Overflow::Block,
            _ => self.must_succeed(),
        }
    }

    /// Whether a failure of it stops the message.
    pub(crate) fn must_succeed(&self) -> bool {
        self.is_active() && !self.fail_open
    }
}
