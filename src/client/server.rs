//! A connection to an interceptor server.

use std::{fmt, sync::Arc};

use super::{ServerError, ServerOptions, connect::Connect};
use crate::{McpService, interceptor::InterceptorsCapability, message::Era};

/// A connection to a server that hosts interceptors. Cheap to clone; all clones share it.
///
/// It connects with the first call, and anew with the next one when the transport has died. Connecting is
/// shared by all who wait for it and goes on when one of them leaves.
///
/// What it opened itself (a child process, a session over HTTP) it closes: with [`close`](Self::close), or, a
/// child, when the last clone is gone. A service that was handed in stays its owner's.
#[derive(Clone)]
pub struct InterceptorServer(Arc<Connect>);

impl InterceptorServer {
    /// A server behind any service, in memory or a transport of the caller's. `name` is what it is called here.
    pub fn new(name: impl Into<Arc<str>>, service: impl McpService) -> Self {
        Self::builder(name).service(service)
    }

    /// Settings, and the other transports.
    pub fn builder(name: impl Into<Arc<str>>) -> ServerOptions {
        ServerOptions::new(name)
    }

    pub(super) fn with(connect: Connect) -> Self {
        Self(Arc::new(connect))
    }

    pub(super) fn inner(&self) -> &Arc<Connect> {
        &self.0
    }

    /// What it is called here.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn shared_name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// Connects, unless it is connected. Calls do that by themselves.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or no version can be agreed on.
    pub async fn connect(&self) -> Result<(), ServerError> {
        self.0.session().await.map(drop)
    }

    /// Which era the server speaks, once it is connected.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.0.connected().map(|session| session.era)
    }

    /// The version of the protocol that was agreed on, once it is connected.
    #[must_use]
    pub fn protocol_version(&self) -> Option<String> {
        self.0.connected().map(|session| session.version.to_string())
    }

    /// What the server says about its interceptors in its capabilities, once it is connected. Only a hint: some
    /// servers that have interceptors do not say so, and the list is what counts.
    #[must_use]
    pub fn capability(&self) -> Option<InterceptorsCapability> {
        let session = self.0.connected()?;
        InterceptorsCapability::from_capabilities(&session.capabilities)
            .ok()
            .flatten()
    }

    /// Closes the connection for good; later calls fail. A service that was handed in is left as it is.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

impl fmt::Debug for InterceptorServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptorServer")
            .field("name", &self.name())
            .field("era", &self.era())
            .finish_non_exhaustive()
    }
}
