//! Many clients, each with a child process of its own: what stands behind an HTTP front.

mod service;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use super::{ChildBackend, ChildCommand};
use crate::proxy::BackendError;
use table::Table;

/// The header that names a legacy session.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";

type Spawn = dyn Fn(Sharing) -> Result<ChildBackend, BackendError> + Send + Sync;

/// Who will use a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// One session or connection.
    Own,
    /// All modern requests of a principal.
    Shared,
}

/// Runs a server once for each client.
///
/// * A legacy `initialize` starts a child and opens a session; its id is in the reply's head as
///   `mcp-session-id`. Later messages find the child by the session of their exchange. A session belongs to
///   the principal that opened it; to anybody else, and once it has ended, it does not exist (404).
/// * A modern request needs no session. Each principal has one child for those, the anonymous one included.
/// * A message that came over a connection (stdio, memory) goes to that connection's own child.
///
/// Sessions end with `End`, after a time without use, when there are too many (the one unused for longest
/// goes), and with their child: nothing is restarted behind a client's back.
///
/// ```no_run
/// use std::time::Duration;
/// use mcp_interceptors::stdio::{ChildCommand, ChildPool};
///
/// let server = ChildCommand::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
/// let pool = ChildPool::new(server).idle_timeout(Duration::from_secs(600)).max_children(32);
/// ```
#[derive(Clone)]
pub struct ChildPool {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Mutex<Settings>,
    spawn: Box<Spawn>,
    table: Mutex<Table>,
}

#[derive(Clone, Copy)]
struct Settings {
    idle: Duration,
    max: usize,
}

impl ChildPool {
    /// A pool of children of this command. Nothing is started before it is needed.
    #[must_use]
    pub fn new(command: ChildCommand) -> Self {
        Self::with(move |sharing| match sharing {
            Sharing::Own => command.spawn(),
            Sharing::Shared => command.clone().shared(true).spawn(),
        })
    }

    fn with(spawn: impl Fn(Sharing) -> Result<ChildBackend, BackendError> + Send + Sync + 'static) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings: Mutex::new(Settings {
                    idle: Duration::from_secs(30 * 60),
                    max: 256,
                }),
                spawn: Box::new(spawn),
                table: Mutex::default(),
            }),
        }
    }

    /// How long a child may be without use: 30 minutes unless set. An open `Listen` is no use.
    #[must_use]
    pub fn idle_timeout(self, idle: Duration) -> Self {
        self.inner.settings().idle = idle;
        self
    }

    /// How many children may run for sessions and principals: 256 unless set.
    #[must_use]
    pub fn max_children(self, max: usize) -> Self {
        self.inner.settings().max = max;
        self
    }

    /// How many children run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.table().len()
    }

    /// Whether no child runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends all children in order, and completes when they are gone. Later sessions start new ones.
    pub async fn shutdown(&self) {
        let children = self.inner.table().take_all();
        futures::future::join_all(children.iter().map(ChildBackend::shutdown)).await;
    }
}

impl Inner {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more child.
    fn reserve(self: &Arc<Self>, table: &mut Table) -> Result<(), BackendError> {
        let Settings { idle, max } = *self.settings();
        table.sweep(idle);
        if table.pooled() >= max && !table.evict() {
            return Err(BackendError::unavailable("too many sessions are in use"));
        }
        if !std::mem::replace(&mut table.sweeping, true) {
            tokio::spawn(sweep(Arc::downgrade(self), idle));
        }
        Ok(())
    }
}

/// Ends what is not used any more, for as long as there is a pool.
async fn sweep(pool: Weak<Inner>, idle: Duration) {
    let pause = (idle / 8).clamp(Duration::from_millis(100), Duration::from_secs(60));
    loop {
        tokio::time::sleep(pause).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut table = pool.table();
        table.sweep(idle);
        if table.pooled() == 0 {
            table.sweeping = false;
            return;
        }
    }
}

impl fmt::Debug for ChildPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildPool")
            .field("children", &self.len())
            .finish_non_exhaustive()
    }
}
