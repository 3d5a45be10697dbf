//! What an operator relies on.

use std::sync::Arc;

use tower::service_fn;

use crate::{
    BoxError,
    interceptor::{Descriptor, Hook, Interceptor, InterceptorType, Invocation, Mode, Outcome},
};

/// An interceptor that a server must have, and how it must be at least.
///
/// It must be there at the start. What its server weakens or withdraws later does not take effect: its events are
/// blocked, and an alarm (an error in the log) says why.
///
/// ```
/// use mcp_interceptors::{client::Required, interceptor::{Hook, InterceptorType, Phase}};
///
/// let guard = Required::new("guards", "no-secrets", InterceptorType::Validation)
///     .hook(Hook::parse(Phase::Response, ["tools/call"])?);
/// # let _ = guard;
/// # Ok::<(), mcp_interceptors::interceptor::InvalidEventPattern>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Required {
    pub(super) server: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) hooks: Vec<Hook>,
    kind: InterceptorType,
    mode: Mode,
    fail_open: bool,
}

impl Required {
    /// An interceptor of that server, name and type: active, and fail-closed.
    pub fn new(server: impl Into<Arc<str>>, name: impl Into<Arc<str>>, kind: InterceptorType) -> Self {
        Self {
            server: server.into(),
            name: name.into(),
            hooks: Vec::new(),
            kind,
            mode: Mode::Active,
            fail_open: false,
        }
    }

    /// What it must hook; it may hook more.
    pub fn hook(mut self, hook: Hook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// The mode it must have; with audit it may be active too.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Whether it may be `failOpen`.
    pub fn fail_open(mut self, fail_open: bool) -> Self {
        self.fail_open = fail_open;
        self
    }

    /// What is missing from what the server lists.
    pub(super) fn missing_from(&self, listed: Option<&Descriptor>) -> Option<String> {
        let Some(listed) = listed else {
            return Some("its server does not list it".into());
        };
        if listed.kind != self.kind {
            return Some(format!("it must be a {}, and is a {}", self.kind, listed.kind));
        }
        if let Err(missing) = Hook::check_narrows(&listed.hooks, &self.hooks) {
            return Some(format!(
                "it does not hook {:?} in the {} phase",
                missing.event.as_str(),
                missing.phase
            ));
        }
        if self.mode.is_active() && !listed.mode.is_active() {
            return Some("it is in audit mode".into());
        }
        if listed.fail_open && !self.fail_open {
            return Some("it is failOpen".into());
        }
        None
    }

    /// What blocks the events of this interceptor: those that are required, and those that it hooks still.
    pub(super) fn stand_in(&self, listed: Option<&Descriptor>, why: &str) -> Interceptor {
        let hooks = listed.into_iter().flat_map(|listed| listed.hooks.iter().cloned());
        stand_in(
            &self.server,
            &self.name,
            &self.kind,
            hooks.chain(self.hooks.iter().cloned()).collect(),
            why,
        )
    }
}

/// An interceptor that fails always, and whose failure blocks.
pub(super) fn stand_in(
    server: &Arc<str>,
    name: &str,
    kind: &InterceptorType,
    hooks: Vec<Hook>,
    why: &str,
) -> Interceptor {
    // A sink stops nothing, and what is of an unknown type never runs.
    let kind = match kind {
        InterceptorType::Mutation => InterceptorType::Mutation,
        InterceptorType::Validation | InterceptorType::Sink | InterceptorType::Unknown(_) => {
            InterceptorType::Validation
        }
    };
    let mut descriptor = Descriptor::named(name.to_owned(), kind);
    descriptor.hooks = hooks;
    failing(descriptor, why).hosted_by(Arc::clone(server)).fixed()
}

/// An interceptor that fails always; its `failOpen` decides.
pub(super) fn failing(descriptor: Descriptor, why: &str) -> Interceptor {
    let why: Arc<str> = why.into();
    let service = service_fn(move |_: Invocation| {
        let why = why.to_string();
        async move { Err::<Outcome, BoxError>(why.into()) }
    });
    Interceptor::new(descriptor, service)
}
