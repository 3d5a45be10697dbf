//! Which child belongs to whom, and since when it is not used.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    message::{Connection, Principal, PrincipalKind},
    stdio::ChildBackend,
};

/// Someone with a name, or anybody.
pub(super) type Owner = Option<Principal>;

/// What nobody has authenticated is one caller, however it is written.
pub(super) fn owner(principal: Option<&Principal>) -> Owner {
    principal
        .filter(|principal| principal.kind != PrincipalKind::Anonymous)
        .cloned()
}

#[derive(Default)]
pub(super) struct Table {
    sessions: HashMap<Arc<str>, Entry>,
    principals: HashMap<Owner, Entry>,
    connections: HashMap<usize, (Weak<Connection>, ChildBackend)>,
    /// Whether the task that ends idle children runs.
    pub(super) sweeping: bool,
}

struct Entry {
    child: ChildBackend,
    owner: Owner,
    /// The version that was negotiated, where the answer to `initialize` told.
    version: Option<Box<str>>,
    usage: Usage,
}

/// Counts what runs and remembers when the last of it ended.
#[derive(Clone)]
pub(super) struct Usage(Arc<(AtomicUsize, Mutex<Instant>)>);

/// In use for as long as this lives.
pub(super) struct InUse(Usage);

impl Usage {
    pub(super) fn new() -> Self {
        Self(Arc::new((AtomicUsize::new(0), Mutex::new(Instant::now()))))
    }

    pub(super) fn start(&self) -> InUse {
        self.touch();
        self.0.0.fetch_add(1, Ordering::AcqRel);
        InUse(self.clone())
    }

    pub(super) fn touch(&self) {
        *self.0.1.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Since when; `None` while something runs.
    fn idle_since(&self) -> Option<Instant> {
        (self.0.0.load(Ordering::Acquire) == 0)
            .then(|| *self.0.1.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Entry {
    fn is_over(&self, idle: Duration) -> bool {
        self.child.is_closed()
            || self
                .usage
                .idle_since()
                .is_some_and(|since| since.elapsed() >= idle)
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.pooled() + self.connections.len()
    }

    /// Those that count: the others come and go with their connections.
    pub(super) fn pooled(&self) -> usize {
        self.sessions.len() + self.principals.len()
    }

    pub(super) fn open(&mut self, session: Arc<str>, child: ChildBackend, owner: Owner) -> Usage {
        let usage = Usage::new();
        self.sessions.insert(
            session,
            Entry {
                child,
                owner,
                version: None,
                usage: usage.clone(),
            },
        );
        usage
    }

    /// The child of a session, for its owner. To anybody else there is none.
    pub(super) fn session(&self, session: &str, owner: &Owner) -> Option<(ChildBackend, Usage)> {
        let entry = self.sessions.get(session).filter(|entry| entry.owner == *owner)?;
        Some((entry.child.clone(), entry.usage.clone()))
    }

    pub(super) fn negotiated(&mut self, session: &str, version: &str) {
        if let Some(entry) = self.sessions.get_mut(session) {
            entry.version = Some(version.into());
        }
    }

    /// Whether a session may speak this version: the one it negotiated.
    pub(super) fn speaks(&self, session: &str, version: &[u8]) -> bool {
        let negotiated = self
            .sessions
            .get(session)
            .and_then(|entry| entry.version.as_deref());
        negotiated.is_none_or(|negotiated| negotiated.as_bytes() == version)
    }

    pub(super) fn close(&mut self, session: &str) {
        if let Some(entry) = self.sessions.remove(session) {
            entry.child.link().close();
        }
    }

    pub(super) fn principal(&self, owner: &Owner) -> Option<(ChildBackend, Usage)> {
        let entry = self.principals.get(owner)?;
        Some((entry.child.clone(), entry.usage.clone()))
    }

    pub(super) fn set_principal(&mut self, owner: Owner, child: ChildBackend) -> Usage {
        let usage = Usage::new();
        let entry = Entry {
            child,
            owner: owner.clone(),
            version: None,
            usage: usage.clone(),
        };
        self.principals.insert(owner, entry);
        usage
    }

    pub(super) fn connection(&self, connection: &Arc<Connection>) -> Option<ChildBackend> {
        self.connections
            .get(&address(connection))
            .map(|(_, child)| child.clone())
    }

    pub(super) fn set_connection(&mut self, connection: &Arc<Connection>, child: ChildBackend) {
        // The weak reference keeps the address from being used again.
        self.connections
            .insert(address(connection), (Arc::downgrade(connection), child));
    }

    pub(super) fn remove_connection(&mut self, connection: &Arc<Connection>) -> Option<ChildBackend> {
        self.connections
            .remove(&address(connection))
            .map(|(_, child)| child)
    }

    /// Removes what is dead or has not been used for so long, and closes it.
    pub(super) fn sweep(&mut self, idle: Duration) {
        let keep = |entry: &mut Entry| {
            let over = entry.is_over(idle);
            if over {
                entry.child.link().close();
            }
            !over
        };
        self.sessions.retain(|_, entry| keep(entry));
        self.principals.retain(|_, entry| keep(entry));
        self.connections
            .retain(|_, (connection, _)| connection.strong_count() > 0);
    }

    /// Ends the session or the principal's child that has not been used for longest; `false` when all are.
    pub(super) fn evict(&mut self) -> bool {
        let session = self
            .sessions
            .iter()
            .filter_map(|(id, entry)| Some((entry.usage.idle_since()?, id)))
            .min();
        let principal = self
            .principals
            .iter()
            .filter_map(|(owner, entry)| Some((entry.usage.idle_since()?, owner)))
            .min_by_key(|(since, _)| *since);
        match (session, principal) {
            (Some((since, id)), principal) if principal.is_none_or(|(other, _)| since <= other) => {
                let id = Arc::clone(id);
                tracing::warn!("too many sessions: the one unused for longest was ended");
                self.close(&id);
            }
            (_, Some((_, owner))) => {
                let owner = owner.clone();
                if let Some(entry) = self.principals.remove(&owner) {
                    entry.child.link().close();
                }
            }
            (_, None) => return false,
        }
        true
    }

    pub(super) fn take_all(&mut self) -> Vec<ChildBackend> {
        let sessions = self.sessions.drain().map(|(_, entry)| entry.child);
        let principals = self.principals.drain().map(|(_, entry)| entry.child);
        let connections = self.connections.drain().map(|(_, (_, child))| child);
        sessions.chain(principals).chain(connections).collect()
    }
}

fn address(connection: &Arc<Connection>) -> usize {
    Arc::as_ptr(connection).addr()
}
