//! Putting a server together.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use super::{
    InterceptorServer,
    host::{Host, Hosted},
    old::{self, OldDialect},
    schema::ConfigSchema,
};
use crate::{
    chain::{Entry, Overrides},
    interceptor::{Interceptor, InterceptorsCapability},
};

/// Builds an [`InterceptorServer`].
#[derive(Debug)]
#[must_use = "a builder does nothing until build()"]
pub struct InterceptorServerBuilder {
    name: String,
    version: String,
    instructions: Option<String>,
    interceptors: Vec<Interceptor>,
    default_timeout: Duration,
    max_timeout: Duration,
    old: bool,
}

impl InterceptorServerBuilder {
    pub(super) fn new(name: String, version: String) -> Self {
        Self {
            name,
            version,
            instructions: None,
            interceptors: Vec::new(),
            default_timeout: Duration::from_secs(30),
            max_timeout: Duration::from_secs(300),
            old: false,
        }
    }

    /// Hosts an interceptor. They are listed in the order in which they were added.
    pub fn interceptor(mut self, interceptor: impl Into<Interceptor>) -> Self {
        self.interceptors.push(interceptor.into());
        self
    }

    /// Hosts several.
    pub fn interceptors<T: Into<Interceptor>>(mut self, interceptors: impl IntoIterator<Item = T>) -> Self {
        self.interceptors.extend(interceptors.into_iter().map(Into::into));
        self
    }

    /// A text that clients are shown when they connect.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// How long an interceptor may take when neither it nor the caller says: 30 s unless set.
    pub fn default_timeout(mut self, timeout: Duration) -> Self {
        self.default_timeout = timeout;
        self
    }

    /// How long it may take at most, whatever the caller says: 5 min unless set.
    pub fn max_timeout(mut self, timeout: Duration) -> Self {
        self.max_timeout = timeout;
        self
    }

    /// Serves gateways that speak the dialect of 2025: `interceptor/executeChain`, and the capability under
    /// `experimental.interceptors` too. Descriptors get flat `events` and `phase` beside their hooks; sinks
    /// are called `observability` and answer `observed`. Newer peers may not know that type, so turn it on only
    /// for such gateways.
    pub fn old_dialect(mut self) -> Self {
        self.old = true;
        self
    }

    /// Puts it together.
    ///
    /// # Errors
    ///
    /// When an interceptor has no name, two have the same, or a `configSchema` is none (with the feature
    /// `schema`).
    pub fn build(self) -> Result<InterceptorServer, ServerBuildError> {
        let mut by_name = HashMap::new();
        let mut hosted = Vec::with_capacity(self.interceptors.len());
        let mut chain = crate::chain::Chain::builder();
        for interceptor in self.interceptors {
            let name = interceptor.descriptor().name.clone();
            if name.is_empty() {
                return Err(ServerBuildError("an interceptor has no name: give it one".into()));
            }
            if by_name.insert(name.clone(), hosted.len()).is_some() {
                return Err(ServerBuildError(format!(
                    "two interceptors are named {name:?}: rename one of them"
                )));
            }
            let entry = Entry::new(&interceptor, Overrides::default())
                .map_err(|error| ServerBuildError(error.to_string()))?;
            let schema = match interceptor.descriptor().config_schema.as_deref() {
                Some(schema) => ConfigSchema::compile(schema).map_err(|error| {
                    ServerBuildError(format!("the configSchema of {name:?} cannot be used: {error}"))
                })?,
                None => None,
            };
            if self.old {
                chain = chain.interceptor(interceptor.clone());
            }
            hosted.push(Hosted {
                interceptor,
                entry,
                schema,
            });
        }
        let capability = InterceptorsCapability::of(hosted.iter().map(Hosted::descriptor));
        let capabilities = old::capabilities(&capability, self.old);
        let old = match self.old {
            true => Some(OldDialect::new(
                chain
                    .build()
                    .map_err(|error| ServerBuildError(error.to_string()))?,
            )),
            false => None,
        };
        Ok(InterceptorServer::new(Arc::new(Host {
            name: self.name,
            version: self.version,
            instructions: self.instructions,
            hosted,
            by_name,
            capability,
            capabilities,
            default_timeout: self.default_timeout,
            max_timeout: self.max_timeout,
            old,
        })))
    }
}

/// Why a server cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBuildError(String);

impl fmt::Display for ServerBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerBuildError {}
