//! How a deployment wants an interceptor, where that differs from what it says about itself.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::interceptor::{Hook, Mode, PriorityHint};

/// What a deployment changes about an interceptor (SEP-2624, chain entries): everything but what it is.
///
/// Hooks can be narrowed, never widened: an interceptor is not shown what it has not asked for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Overrides {
    pub(crate) fail_open: Option<bool>,
    pub(crate) priority: Option<PriorityHint>,
    pub(crate) mode: Option<Mode>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) hooks: Option<Vec<Hook>>,
    pub(crate) config: Option<Arc<RawValue>>,
}

impl Overrides {
    /// No change.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether its failure lets the message pass.
    #[must_use]
    pub fn fail_open(mut self, fail_open: bool) -> Self {
        self.fail_open = Some(fail_open);
        self
    }

    /// Where it stands among mutators.
    #[must_use]
    pub fn priority(mut self, priority: impl Into<PriorityHint>) -> Self {
        self.priority = Some(priority.into());
        self
    }

    /// Active or audit.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// How long one run may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The hooks to use, which must lie within those it declares.
    #[must_use]
    pub fn hooks(mut self, hooks: impl IntoIterator<Item = Hook>) -> Self {
        self.hooks = Some(hooks.into_iter().collect());
        self
    }

    /// Its configuration. What does not serialise is none.
    #[must_use]
    pub fn config<T: Serialize + ?Sized>(mut self, config: &T) -> Self {
        self.config = to_raw_value(config).ok().map(Arc::from);
        self
    }

    /// These where they say something, else the others.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            fail_open: self.fail_open.or(other.fail_open),
            priority: self.priority.or(other.priority),
            mode: self.mode.or(other.mode),
            timeout: self.timeout.or(other.timeout),
            hooks: self.hooks.or_else(|| other.hooks.clone()),
            config: self.config.or_else(|| other.config.clone()),
        }
    }
}
