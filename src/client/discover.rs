//! Finding the interceptors of many servers, once, before anything is served.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use super::{
    DuplicateNames, InterceptorServer, Required, ServerError,
    merge::Recipe,
    refresh::{Intervals, Upkeep, list},
};
use crate::{
    chain::{BuildError, Chain, ChainBuilder, SharedChain},
    interceptor::{Descriptor, EventPattern, Interceptor},
};

/// As good as never; a clock can still reach it.
const LONG: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Finds the interceptors of these servers, with the settings that hold unless set otherwise. See [`Discovery`].
///
/// # Errors
///
/// As [`DiscoveryBuilder::start`].
pub async fn discover(
    servers: impl IntoIterator<Item = InterceptorServer>,
) -> Result<Discovery, DiscoveryError> {
    Discovery::builder().servers(servers).start().await
}

/// The interceptors of many servers as one chain that is kept up to date.
///
/// All servers are listed once, in parallel, before there is a chain; when one of them cannot be, there is none.
/// During calls no list is asked for. Behind them the lists are refreshed from time to time, and when a server
/// says that it does not know an interceptor. A list that cannot be refreshed is used until it is too old; from
/// then on everything that the server's interceptors hook is blocked.
///
/// Mutators of all servers, and those in process, run in one order: by priority, name, then server. Overrides are
/// those of the [`ChainBuilder`], by server and name.
///
/// The refreshing ends with [`close`](Self::close) and with the runtime. It does not end when this is dropped,
/// since the chain is in use then still.
///
/// ```
/// # use mcp_interceptors::{BoxError, message::Message, reply::Reply};
/// # use mcp_interceptors::client::{Discovery, InterceptorServer};
/// # async fn example(service: impl mcp_interceptors::McpService) -> Result<(), BoxError> {
/// let discovery = Discovery::builder()
///     .server(InterceptorServer::new("guards", service))
///     .start()
///     .await?;
/// // Goes wherever a layer takes a chain.
/// let chain = discovery.chain();
/// # let _ = chain;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Discovery(Arc<Upkeep>);

impl Discovery {
    /// Begins with no servers.
    pub fn builder() -> DiscoveryBuilder {
        DiscoveryBuilder {
            servers: Vec::new(),
            base: Chain::builder(),
            required: Vec::new(),
            duplicates: DuplicateNames::default(),
            events: None,
            wrap: None,
            intervals: Intervals {
                every: Duration::from_secs(5 * 60),
                at_most_every: Duration::from_secs(30),
                max_age: Duration::from_secs(60 * 60),
            },
        }
    }

    /// The chain, for layers: it changes when a list does.
    #[must_use]
    pub fn chain(&self) -> SharedChain {
        self.0.chain.clone()
    }

    /// All interceptors that the servers list now, each with its server's name.
    #[must_use]
    pub fn interceptors(&self) -> Vec<(Arc<str>, Descriptor)> {
        self.0.listed()
    }

    /// The servers.
    #[must_use]
    pub fn servers(&self) -> Vec<InterceptorServer> {
        self.0.servers()
    }

    /// Lists all servers now. One refresh runs at a time; who comes meanwhile shares it.
    ///
    /// # Errors
    ///
    /// What kept the lists, or the chain, from being renewed. What was there before stays in use until it is too
    /// old.
    pub async fn refresh(&self) -> Result<(), DiscoveryError> {
        self.0.refresh().await
    }

    /// Ends the refreshing, and closes the connections that were opened here.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery")
            .field("servers", &self.0.servers())
            .field("chain", &self.0.chain)
            .finish_non_exhaustive()
    }
}

/// The settings of a [`Discovery`].
#[must_use = "nothing is asked before start()"]
pub struct DiscoveryBuilder {
    servers: Vec<InterceptorServer>,
    base: ChainBuilder,
    required: Vec<Required>,
    duplicates: DuplicateNames,
    events: Option<Vec<EventPattern>>,
    wrap: Option<super::merge::Wrap>,
    intervals: Intervals,
}

impl DiscoveryBuilder {
    /// Adds a server. Servers have different names.
    pub fn server(mut self, server: InterceptorServer) -> Self {
        self.servers.push(server);
        self
    }

    /// Adds servers.
    pub fn servers(mut self, servers: impl IntoIterator<Item = InterceptorServer>) -> Self {
        self.servers.extend(servers);
        self
    }

    /// What the chain begins with: interceptors in process, settings, observers, and overrides, by server and
    /// name, of those that are found.
    pub fn chain(mut self, base: ChainBuilder) -> Self {
        self.base = base;
        self
    }

    /// An interceptor that must be there.
    pub fn require(mut self, required: Required) -> Self {
        self.required.push(required);
        self
    }

    /// What becomes of two interceptors of the same name.
    pub fn duplicates(mut self, policy: DuplicateNames) -> Self {
        self.duplicates = policy;
        self
    }

    /// Remote interceptors see these events only; `*` means all that they hook, as it is without this.
    pub fn events(mut self, events: impl IntoIterator<Item = EventPattern>) -> Self {
        self.events = Some(events.into_iter().collect());
        self
    }

    /// Changes each remote interceptor before it gets into the chain: puts tower layers around it, say.
    pub fn wrap(mut self, wrap: impl Fn(Interceptor) -> Interceptor + Send + Sync + 'static) -> Self {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// How often lists are refreshed; every 5 minutes unless set.
    pub fn refresh_every(mut self, interval: Duration) -> Self {
        self.intervals.every = interval.min(LONG);
        self
    }

    /// How often they are refreshed at most, when answers say that they have changed or refreshing has failed;
    /// every 30 seconds unless set.
    pub fn refresh_at_most_every(mut self, interval: Duration) -> Self {
        self.intervals.at_most_every = interval.min(LONG);
        self
    }

    /// How old a list may be; an hour unless set. Then what its interceptors hook is blocked.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.intervals.max_age = age.min(LONG);
        self
    }

    /// Lists all servers and makes the chain. Starts two tasks.
    ///
    /// # Errors
    ///
    /// When a server cannot be listed, or lists an entry that cannot be read; when what is required is not there;
    /// when the chain cannot be built.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn start(self) -> Result<Discovery, DiscoveryError> {
        self.check()?;
        let recipe = Recipe {
            base: self.base,
            required: self.required,
            duplicates: self.duplicates,
            events: self.events,
            wrap: self.wrap,
            doubt: Arc::new(Notify::new()),
        };
        let began = Instant::now();
        let lists = futures::future::join_all(self.servers.iter().map(|server| list(server, began))).await;
        let listed = lists.into_iter().collect::<Result<Vec<_>, _>>()?;
        let chain = recipe.chain(&listed, true)?;
        Ok(Discovery(Upkeep::start(recipe, listed, chain, self.intervals)))
    }

    fn check(&self) -> Result<(), DiscoveryError> {
        let mut names = HashSet::new();
        if let Some(twice) = self.servers.iter().find(|server| !names.insert(server.name())) {
            let text = format!("two servers are named {:?}: rename one of them", twice.name());
            return Err(DiscoveryError::Setting(text));
        }
        for required in &self.required {
            let what = format!(
                "the required interceptor {:?} of {:?}",
                required.name, required.server
            );
            if !names.contains(&*required.server) {
                return Err(DiscoveryError::Setting(format!(
                    "{what}: there is no server of that name"
                )));
            }
            if required.hooks.iter().all(|hook| hook.events.is_empty()) {
                return Err(DiscoveryError::Setting(format!(
                    "{what} names no events: give it hooks"
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DiscoveryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryBuilder")
            .field("servers", &self.servers)
            .field("required", &self.required)
            .field("duplicates", &self.duplicates)
            .finish_non_exhaustive()
    }
}

/// Why there is no chain of remote interceptors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// A server could not be listed.
    Server(ServerError),
    /// A server lists what cannot be read: it might be a guard.
    Unreadable {
        /// The server.
        server: String,
        /// The name of the entry, if at least that can be read.
        name: Option<String>,
        /// What is wrong with it.
        reason: String,
    },
    /// A required interceptor is not as it must be.
    Required {
        /// The server.
        server: String,
        /// The interceptor.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two servers have an interceptor of the same name, and that is not wanted.
    DuplicateName {
        /// The name.
        name: String,
        /// The two servers.
        servers: [String; 2],
    },
    /// The chain cannot be built.
    Chain(BuildError),
    /// A setting makes no sense.
    Setting(String),
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::Unreadable { server, name, reason } => {
                let name = name.as_deref().unwrap_or("without a name");
                write!(
                    f,
                    "interceptor server {server:?} lists an entry ({name:?}) that cannot be read: {reason}"
                )
            }
            Self::Required { server, name, reason } => {
                write!(
                    f,
                    "the required interceptor {name:?} of {server:?} is not as it must be: {reason}"
                )
            }
            Self::DuplicateName {
                name,
                servers: [one, other],
            } => {
                write!(f, "an interceptor named {name:?} is on {one:?} and on {other:?}")
            }
            Self::Chain(error) => error.fmt(f),
            Self::Setting(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for DiscoveryError {}
