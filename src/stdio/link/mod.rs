//! A link: newline-delimited JSON to an MCP server at the other end of two pipes.

mod options;
mod outgoing;
mod pump;
mod queue;
mod reply;
mod rewrite;
mod route;
mod send;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Notify, Semaphore},
};
use tower_service::Service;

use crate::{
    BoxError,
    message::{Cancellation, Message},
    reply::Reply,
};

pub use options::LinkOptions;
pub use table::LinkCounts;
use table::State;

/// How many bytes may wait to be written before requests wait, too.
const WRITE_BUDGET: usize = 16 * 1024 * 1024;

/// A service that speaks newline-delimited JSON with an MCP server over two pipes.
///
/// All calls share one pair of pipes, so a link mints the ids and progress tokens that the server sees, and
/// gives every client its own back in its exact spelling. It routes what the server sends: an answer by its
/// id, progress by its token, the rest to the call it must belong to or to whoever listens.
///
/// What it never does is wait for the consumer of a reply: a layer that calls the server while it holds an
/// event of it would be stuck for good. Queues are bounded in bytes instead; one that is full ends its reply
/// with an error, and the last item always has room.
///
/// ```
/// # tokio_test::block_on(async {
/// use mcp_interceptors::{message::{Id, Message}, stdio::Link};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tower::ServiceExt;
///
/// let (ours, mut server) = tokio::io::duplex(1024);
/// let (reader, writer) = tokio::io::split(ours);
/// let link = Link::new(reader, writer);
///
/// let call = tokio::spawn(link.oneshot(Message::bare_request(&Id::from("a"), "ping")));
/// let mut line = vec![0; 41];
/// server.read_exact(&mut line).await.unwrap();
/// assert_eq!(line, *b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
/// server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await.unwrap();
///
/// let answer = call.await.unwrap().unwrap().into_one(drop).await.unwrap().unwrap();
/// assert_eq!(answer.as_json(), r#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
/// # });
/// ```
///
/// Clones share the pipes. When the last clone and the last reply are gone, the pipes are closed.
#[derive(Clone)]
pub struct Link {
    shared: Arc<Shared>,
    /// Not in `Shared`: the tasks that read and write hold that, and would keep the link open.
    _owner: Arc<Owner>,
}

/// What the handles of a link and its two tasks share.
struct Shared {
    options: LinkOptions,
    state: Mutex<State>,
    minted: AtomicI64,
    /// Something is to be written, or the link is closing.
    work: Notify,
    /// Bytes that may still be queued for writing.
    budget: Arc<Semaphore>,
    /// Raised when nothing comes or goes any more.
    gone: Cancellation,
}

struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Link {
    /// Connects with default options. Starts two tasks, so it must be called inside a Tokio runtime.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub fn new<R, W>(reader: R, writer: W) -> Self
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        LinkOptions::new().connect(reader, writer)
    }

    fn with<R, W>(options: LinkOptions, reader: R, writer: W) -> Self
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(&options)),
            options,
            minted: AtomicI64::new(1),
            work: Notify::new(),
            budget: Arc::new(Semaphore::new(WRITE_BUDGET)),
            gone: Cancellation::new(),
        });
        tokio::spawn(pump::read(Arc::clone(&shared), Box::pin(reader)));
        tokio::spawn(pump::write(Arc::clone(&shared), Box::pin(writer)));
        Self {
            _owner: Arc::new(Owner(Arc::clone(&shared))),
            shared,
        }
    }

    /// Closes the link in order: what is queued is still written, then the server sees the end of its input.
    /// Later calls fail; calls that run may still be answered for a short while.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Completes when nothing comes from the server any more.
    pub async fn closed(&self) {
        self.shared.gone.cancelled().await;
    }

    /// Whether calls fail at once: the server is gone, or the link was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.lock().refusal().is_some()
    }

    /// What the link had to drop so far.
    #[must_use]
    pub fn counts(&self) -> LinkCounts {
        self.shared.lock().counts
    }

    /// A look at the link that does not keep it open.
    pub(crate) fn watcher(&self) -> Watcher {
        Watcher {
            gone: self.shared.gone.clone(),
            shared: Arc::downgrade(&self.shared),
        }
    }
}

/// Sees how a link ends.
pub(crate) struct Watcher {
    gone: Cancellation,
    shared: Weak<Shared>,
}

impl Watcher {
    pub(crate) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Whether the link was closed from our side, and not by the server.
    pub(crate) fn was_closed(&self) -> bool {
        self.shared.upgrade().is_none_or(|shared| shared.lock().closing)
    }

    /// Ends what is left.
    pub(crate) fn die(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.die(shared.options.gone);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().closing = true;
        self.budget.close();
        self.work.notify_one();
    }

    fn die(&self, reason: &str) {
        self.lock().die(reason);
        self.budget.close();
        self.gone.cancel();
        self.work.notify_one();
    }
}

/// Arrivals of all links of the process are numbered together, so that fronts can compare any two.
fn next_arrival() -> u64 {
    static ARRIVALS: AtomicU64 = AtomicU64::new(1);
    ARRIVALS.fetch_add(1, Ordering::Relaxed)
}

impl Service<Message> for Link {
    type Response = Reply;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Reply, BoxError>>;

    // A link that is down says so in `call`: an error here would kill a `Buffer` for good.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        Box::pin(self.clone().send(message))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("server", &self.shared.options.name)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
