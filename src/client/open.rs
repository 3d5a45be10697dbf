//! Where a connection comes from, and its settings.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tower::{ServiceExt, util::BoxCloneSyncService};

use super::{InterceptorServer, connect::Connect};
use crate::{BoxError, McpService, message::Message, reply::Reply};

/// A transport, its type erased.
pub(super) type Transport = BoxCloneSyncService<Message, Reply, BoxError>;

/// A transport that has just been opened, or was handed in.
pub(super) struct Opened {
    pub(super) transport: Transport,
    /// Whether it is ours to close.
    pub(super) ours: bool,
    /// Says whether it has died, where that can be known without a call.
    pub(super) is_dead: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

type Opening = BoxFuture<'static, Result<Opened, BoxError>>;

/// Opens transports to one server.
#[derive(Clone)]
pub(super) struct Opener(Arc<dyn Fn() -> Opening + Send + Sync>);

impl Opener {
    pub(super) fn open(&self) -> Opening {
        (self.0)()
    }
}

/// How long things may take, and who we say we are.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) probe_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) retry_delay: Duration,
    pub(super) max_pages: usize,
}

/// The settings of an [`InterceptorServer`].
///
/// ```
/// use std::time::Duration;
/// use mcp_interceptors::client::ServerOptions;
///
/// let options = ServerOptions::new("guards").call_timeout(Duration::from_secs(5));
/// # let _ = options;
/// ```
#[derive(Clone)]
#[must_use]
pub struct ServerOptions {
    name: Arc<str>,
    settings: Settings,
}

impl ServerOptions {
    /// The defaults, for a server that is called so here: in overrides, requirements and reports.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            settings: Settings {
                probe_timeout: Duration::from_secs(3),
                connect_timeout: Duration::from_secs(15),
                call_timeout: Duration::from_secs(30),
                retry_delay: Duration::from_secs(1),
                max_pages: 100,
            },
        }
    }

    /// How long `server/discover` may take before the server counts as one of the legacy era; 3 s unless set.
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.settings.probe_timeout = timeout;
        self
    }

    /// How long connecting may take, the probe included; 15 s unless set.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// How long a call may take that says nothing itself; 30 s unless set.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.settings.call_timeout = timeout;
        self
    }

    /// How long calls fail at once after connecting has failed; 1 s unless set.
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.settings.retry_delay = delay;
        self
    }

    /// How many pages a list may have; 100 unless set.
    pub fn max_pages(mut self, pages: usize) -> Self {
        self.settings.max_pages = pages;
        self
    }

    /// A server behind a service that stays its owner's: it is never told to end.
    pub fn service(self, service: impl McpService) -> InterceptorServer {
        let transport = erase(service);
        self.opened_by(move || {
            let opened = Opened {
                transport: transport.clone(),
                ours: false,
                is_dead: None,
            };
            Box::pin(std::future::ready(Ok(opened)))
        })
    }

    /// A server behind a URL (Streamable HTTP).
    ///
    /// # Errors
    ///
    /// When the URL is none that can be used.
    #[cfg(feature = "http")]
    pub fn http(self, url: impl AsRef<str>) -> Result<InterceptorServer, crate::http::EndpointError> {
        let transport = erase(crate::http::HttpBackend::new(url)?);
        Ok(self.opened_by(move || {
            let opened = Opened {
                transport: transport.clone(),
                ours: true,
                is_dead: None,
            };
            Box::pin(std::future::ready(Ok(opened)))
        }))
    }

    /// A server that runs as a child process. It is started with the first call, and anew when it has died.
    #[cfg(feature = "stdio")]
    pub fn command(self, command: crate::stdio::ChildCommand) -> InterceptorServer {
        // Nobody here answers what a server asks: let the link refuse it.
        let command = command.shared(true);
        self.opened_by(move || {
            let spawned = command.spawn();
            Box::pin(async move {
                let child = spawned?;
                let watched = child.clone();
                Ok(Opened {
                    transport: erase(child),
                    ours: true,
                    is_dead: Some(Arc::new(move || watched.is_closed())),
                })
            })
        })
    }

    fn opened_by(self, open: impl Fn() -> Opening + Send + Sync + 'static) -> InterceptorServer {
        let connect = Connect::new(self.name, self.settings, Opener(Arc::new(open)));
        InterceptorServer::with(connect)
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn erase(service: impl McpService) -> Transport {
    BoxCloneSyncService::new(service.map_err(Into::into))
}
