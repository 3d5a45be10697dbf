//! Putting a chain together.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use super::{
    Chain, Detail, Entry, Inner, Observer, Overrides, Protected, Surface, plan::Plans, sink_queue::OffPath,
};
use crate::interceptor::{Interceptor, InterceptorType, InvocationContext, WideningHook};

const PHASE_TIMEOUT: Duration = Duration::from_secs(30);
const QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// Builds a [`Chain`].
#[derive(Clone)]
#[must_use = "a builder does nothing until build()"]
pub struct ChainBuilder {
    interceptors: Vec<(Interceptor, Overrides)>,
    overrides: Vec<(Option<Arc<str>>, Arc<str>, Overrides)>,
    settings: Settings,
    observers: Vec<Arc<dyn Observer>>,
}

/// What holds for the whole chain.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) phase_timeout: Duration,
    pub(crate) off_path_timeout: Duration,
    pub(crate) queue_bytes: usize,
    pub(crate) default_context: InvocationContext,
    pub(crate) freed: Vec<Protected>,
    pub(crate) surface: Surface,
    pub(crate) detail: Detail,
}

impl ChainBuilder {
    pub(super) fn new() -> Self {
        Self {
            interceptors: Vec::new(),
            overrides: Vec::new(),
            settings: Settings {
                phase_timeout: PHASE_TIMEOUT,
                off_path_timeout: PHASE_TIMEOUT,
                queue_bytes: QUEUE_BYTES,
                default_context: InvocationContext::default(),
                freed: Vec::new(),
                surface: Surface::default(),
                detail: Detail::default(),
            },
            observers: Vec::new(),
        }
    }

    /// Adds an interceptor as it describes itself.
    pub fn interceptor(self, interceptor: impl Into<Interceptor>) -> Self {
        self.interceptor_with(interceptor, Overrides::new())
    }

    /// Adds an interceptor as this deployment wants it.
    pub fn interceptor_with(mut self, interceptor: impl Into<Interceptor>, overrides: Overrides) -> Self {
        self.interceptors.push((interceptor.into(), overrides));
        self
    }

    /// Adds several, each as it describes itself.
    pub fn interceptors(self, interceptors: impl IntoIterator<Item = Interceptor>) -> Self {
        interceptors.into_iter().fold(self, Self::interceptor)
    }

    /// How long all interceptors of one phase may take together; 30 seconds unless set. Only active work that
    /// must not fail can turn it into a block.
    pub fn phase_timeout(mut self, timeout: Duration) -> Self {
        self.settings.phase_timeout = timeout;
        self
    }

    /// How long one sink or audit may take, off the path; 30 seconds unless set.
    pub fn off_path_timeout(mut self, timeout: Duration) -> Self {
        self.settings.off_path_timeout = timeout;
        self
    }

    /// How many bytes may wait for sinks and audits; 16 MiB unless set. What finds no room is dropped and
    /// counted.
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.settings.queue_bytes = bytes;
        self
    }

    /// What every invocation's context starts from. What is known of the message itself overrides it.
    pub fn default_context(mut self, context: InvocationContext) -> Self {
        self.settings.default_context = context;
        self
    }

    /// Lets mutators change what they otherwise keep.
    pub fn free(mut self, member: Protected) -> Self {
        self.settings.freed.push(member);
        self
    }

    /// How a blocked `tools/call` is answered.
    pub fn surface(mut self, surface: Surface) -> Self {
        self.settings.surface = surface;
        self
    }

    /// What a client is told about a block.
    pub fn detail(mut self, detail: Detail) -> Self {
        self.settings.detail = detail;
        self
    }

    /// Overrides settings of an interceptor by its name, on any server or in process.
    pub fn override_named(mut self, name: impl Into<Arc<str>>, overrides: Overrides) -> Self {
        self.overrides.push((None, name.into(), overrides));
        self
    }

    /// Overrides settings of an interceptor by its server and name.
    pub fn override_on(
        mut self,
        server: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        overrides: Overrides,
    ) -> Self {
        self.overrides.push((Some(server.into()), name.into(), overrides));
        self
    }

    /// Adds one who gets the report of every run.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Compiles the plans.
    ///
    /// # Errors
    ///
    /// When two interceptors of one host have the same name, when an override widens hooks, and when it names
    /// nobody.
    pub fn build(self) -> Result<Chain, BuildError> {
        self.compile(true)
    }

    /// The same; where a list has changed behind the calls, an override may name nobody any more.
    pub(crate) fn rebuild(self) -> Result<Chain, BuildError> {
        self.compile(false)
    }

    /// The names of the interceptors so far.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.interceptors
            .iter()
            .map(|(interceptor, _)| &*interceptor.descriptor().name)
    }

    fn compile(self, strict: bool) -> Result<Chain, BuildError> {
        let mut names = HashSet::new();
        for (interceptor, _) in &self.interceptors {
            let name = interceptor.descriptor().name.clone();
            if name.is_empty() {
                return Err(BuildError("an interceptor has no name: give it one".into()));
            }
            if !names.insert((interceptor.settings().server.clone(), name.clone())) {
                return Err(BuildError(format!(
                    "two interceptors of one host are named {name:?}: rename one of them"
                )));
            }
        }
        let concerns = |interceptor: &Interceptor, server: &Option<Arc<str>>, name: &str| {
            interceptor.descriptor().name == name
                && (server.is_none() || *server == interceptor.settings().server)
        };
        for (server, name, _) in &self.overrides {
            if !self
                .interceptors
                .iter()
                .any(|(interceptor, _)| concerns(interceptor, server, name))
            {
                if !strict {
                    tracing::warn!(
                        ?name,
                        "an override names an interceptor that is not there any more"
                    );
                    continue;
                }
                return Err(BuildError(format!(
                    "an override names {name:?}, which is not in the chain"
                )));
            }
        }
        let mut entries = Vec::with_capacity(self.interceptors.len());
        for (interceptor, mut overrides) in self.interceptors {
            for (server, name, more) in &self.overrides {
                if concerns(&interceptor, server, name) && !interceptor.settings().fixed {
                    overrides = overrides.or(more);
                }
            }
            if let InterceptorType::Unknown(kind) = &interceptor.descriptor().kind {
                tracing::warn!(
                    name = ?interceptor.descriptor().name, kind = ?kind,
                    "an interceptor of an unknown type never runs"
                );
            }
            entries.push(Entry::new(&interceptor, overrides)?);
        }
        let plans = Plans::new(&entries);
        let off_path = Arc::new(OffPath::new(self.settings.queue_bytes));
        Ok(Chain(Arc::new(Inner {
            entries,
            plans,
            off_path,
            observers: self.observers.into(),
            settings: self.settings,
        })))
    }
}

impl fmt::Debug for ChainBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainBuilder")
            .field("interceptors", &self.interceptors)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Why a chain cannot be built. It names the setting and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(String);

impl BuildError {
    pub(super) fn widens(name: &str, error: &WideningHook) -> Self {
        Self(format!(
            "the override of {name:?} widens its hooks: {error}; an override can only narrow"
        ))
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}
