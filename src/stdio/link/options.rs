//! How a link is set up.

use std::{sync::Arc, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};

use super::Link;
use crate::message::DEFAULT_MAX_BYTES;

/// The settings of a [`Link`].
///
/// ```
/// # tokio_test::block_on(async {
/// use mcp_interceptors::stdio::LinkOptions;
///
/// let (ours, server) = tokio::io::duplex(1024);
/// let (reader, writer) = tokio::io::split(ours);
/// let link = LinkOptions::new().name("files").queue_bytes(1 << 20).connect(reader, writer);
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LinkOptions {
    pub(super) name: Arc<str>,
    pub(super) gone: &'static str,
    pub(super) max_message_bytes: usize,
    pub(super) queue_bytes: usize,
    pub(super) shared: bool,
    pub(super) linger: Duration,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            name: "server".into(),
            gone: "the server has closed the connection",
            max_message_bytes: DEFAULT_MAX_BYTES,
            queue_bytes: 8 * 1024 * 1024,
            shared: false,
            linger: Duration::from_secs(2),
        }
    }
}

impl LinkOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the server is called in log lines.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// How long a line of the server may be: 10 MiB unless set.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// How many bytes may wait in one reply that is read too slowly (8 MiB unless set), and how many may wait
    /// for somebody to listen.
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_bytes = bytes;
        self
    }

    /// Whether clients that know nothing of each other share this link (`false` unless set). Then what belongs
    /// to no call is dropped and counted, since it might be another's, and a request of the server is refused:
    /// nobody could say whom it asks.
    pub fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// How long calls that run may still be answered once the link is closed: 2 s unless set.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// What pending calls are told when the other end is gone.
    pub(crate) fn gone(mut self, text: &'static str) -> Self {
        self.gone = text;
        self
    }

    pub(crate) fn server_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Connects. Starts two tasks.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn connect<R, W>(self, reader: R, writer: W) -> Link
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        Link::with(self, reader, writer)
    }
}
