//! What is left of the stack.

use std::{fmt, sync::Arc, time::Duration};

use tower::{ServiceExt, util::BoxCloneSyncService};

use crate::{
    BoxError, McpService,
    message::{Exchange, Message},
    reply::Reply,
};

/// How long a delivery may take.
const DELIVER_WITHIN: Duration = Duration::from_secs(30);

/// The rest of the stack, as a function of [`from_fn`](super::from_fn) sees it.
///
/// It can be cloned, kept as long as the reply lives, and called more than once.
#[derive(Clone)]
pub struct Next {
    inner: BoxCloneSyncService<Message, Reply, BoxError>,
    exchange: Arc<Exchange>,
}

impl Next {
    pub(super) fn new<S: McpService>(inner: S, exchange: Arc<Exchange>) -> Self {
        Self {
            inner: BoxCloneSyncService::new(inner.map_err(|error| -> BoxError { error.into() })),
            exchange,
        }
    }

    /// Passes a message on and waits for the reply: for its head, where it is a stream.
    ///
    /// # Errors
    ///
    /// What the inner services return. Whoever has nothing to say about it passes it on with `?`, and the
    /// [`RescueLayer`](crate::rescue::RescueLayer) turns it into an answer.
    pub async fn run(self, message: Message) -> Result<Reply, BoxError> {
        self.inner.oneshot(message).await
    }

    /// Sends a message of one's own, an answer to the server's request say, in a task of its own and with the
    /// circumstances (session, credentials) of the message that the function was called with. It arrives even when
    /// the client leaves meanwhile. What comes back is dropped, a failure is logged.
    ///
    /// # Errors
    ///
    /// Outside of a Tokio runtime.
    pub fn deliver(self, message: Message) -> Result<(), BoxError> {
        let runtime = tokio::runtime::Handle::try_current()?;
        let message = message.with_exchange(Arc::clone(&self.exchange));
        runtime.spawn(async move {
            match tokio::time::timeout(DELIVER_WITHIN, self.run(message)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "a message could not be delivered"),
                Err(_) => tracing::warn!("a message could not be delivered in time"),
            }
        });
        Ok(())
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}
