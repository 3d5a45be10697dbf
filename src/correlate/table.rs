//! What is remembered, for how long.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use crate::message::{Asked, Exchange, Id, Message, Principal};

/// How many server requests may wait for an answer, and how many broken calls for a resumption. Beyond it the
/// oldest is forgotten, so that what never comes cannot fill the memory.
const MOST: usize = 16 * 1024;

/// Where an id means something: one session, or one connection, of one principal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    session: Option<Box<str>>,
    connection: Option<usize>,
    principal: Option<Principal>,
}

impl Scope {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self {
            session: exchange.session().map(Into::into),
            connection: exchange
                .connection()
                .map(|connection| Arc::as_ptr(connection) as usize),
            principal: exchange.principal().cloned(),
        }
    }

    /// Whether two exchanges can be told to have the same peer.
    pub(super) fn is_shared(exchange: &Exchange) -> bool {
        exchange.session().is_some() || exchange.connection().is_some()
    }
}

type Key = (Scope, Id);

/// Shared by the services of one layer.
#[derive(Clone, Default)]
pub(super) struct Table(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// Requests of servers that wait for the client's answer.
    server: Bounded<Key, Arc<Asked>>,
    /// Calls of clients that run; an id may be used twice.
    calls: HashMap<Key, Vec<Call>>,
    /// Calls of clients whose stream ended before their answer came.
    broken: Bounded<Key, Arc<Asked>>,
    serial: u64,
}

struct Call {
    serial: u64,
    exchange: Arc<Exchange>,
    asked: Arc<Asked>,
}

impl Table {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server's request goes out.
    pub(super) fn server_asks(&self, scope: &Scope, request: &Message) {
        if let (Some(id), Some(asked)) = (request.id(), Asked::of(request)) {
            self.lock().server.insert((scope.clone(), id), Arc::new(asked));
        }
    }

    /// A client's answer comes in: what it answers, once.
    pub(super) fn client_answers(&self, scope: &Scope, answer: &Message) -> Option<Arc<Asked>> {
        self.lock().server.remove(&(scope.clone(), answer.id()?))
    }

    /// A client's call goes in. It is known until the guard is dropped.
    pub(super) fn call(&self, request: &Message) -> Option<Running> {
        let exchange = request.exchange();
        if !Scope::is_shared(exchange) {
            return None;
        }
        let key = (Scope::of(exchange), request.id()?);
        let asked = Arc::new(Asked::of(request)?);
        let mut inner = self.lock();
        inner.serial += 1;
        let serial = inner.serial;
        let call = Call {
            serial,
            exchange: Arc::clone(exchange),
            asked,
        };
        inner.calls.entry(key.clone()).or_default().push(call);
        Some(Running {
            table: self.clone(),
            key,
            serial,
            answered: false,
        })
    }

    /// A client cancels: raises the flag of each call with that id.
    pub(super) fn cancel(&self, scope: &Scope, id: Id) {
        if let Some(calls) = self.lock().calls.get(&(scope.clone(), id)) {
            calls
                .iter()
                .for_each(|call| call.exchange.cancellation().cancel());
        }
    }

    /// An answer comes on a stream that is not its own: which call it answers.
    pub(super) fn resumed(&self, scope: &Scope, answer: &Message) -> Option<Arc<Asked>> {
        let key = (scope.clone(), answer.id()?);
        let inner = self.lock();
        // It stays: a client may resume the same stream again.
        if let Some(asked) = inner.broken.get(&key) {
            return Some(Arc::clone(asked));
        }
        inner
            .calls
            .get(&key)
            .and_then(|calls| calls.first())
            .map(|call| Arc::clone(&call.asked))
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("Table")
            .field("server", &inner.server.len())
            .field("calls", &inner.calls.len())
            .field("broken", &inner.broken.len())
            .finish()
    }
}

/// A call that runs.
pub(super) struct Running {
    table: Table,
    key: Key,
    serial: u64,
    answered: bool,
}

impl Running {
    /// Its answer has come: there is nothing to resume.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut inner = self.table.lock();
        let Some(calls) = inner.calls.get_mut(&self.key) else {
            return;
        };
        let Some(at) = calls.iter().position(|call| call.serial == self.serial) else {
            return;
        };
        let call = calls.swap_remove(at);
        if calls.is_empty() {
            inner.calls.remove(&self.key);
        }
        // Only a session's stream can be resumed.
        if !self.answered && self.key.0.session.is_some() {
            inner.broken.insert(self.key.clone(), call.asked);
        }
    }
}

/// A map that forgets its oldest entries.
struct Bounded<K, V> {
    map: HashMap<K, (u64, V)>,
    order: VecDeque<(u64, K)>,
    serial: u64,
}

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            order: VecDeque::new(),
            serial: 0,
        }
    }
}

impl<K: Clone + Eq + Hash, V> Bounded<K, V> {
    fn insert(&mut self, key: K, value: V) {
        self.serial += 1;
        self.map.insert(key.clone(), (self.serial, value));
        self.order.push_back((self.serial, key));
        // What was removed or replaced leaves a trace in the order; it goes when its turn comes.
        while self.map.len() > MOST || self.order.len() > 2 * MOST {
            let Some((serial, key)) = self.order.pop_front() else {
                break;
            };
            if self.map.get(&key).is_some_and(|(current, _)| *current == serial) {
                self.map.remove(&key);
            }
        }
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        let (_, value) = self.map.remove(key)?;
        if self.map.is_empty() {
            self.order.clear();
        }
        Some(value)
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key).map(|(_, value)| value)
    }

    fn len(&self) -> usize {
        self.map.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let mut map = Bounded::default();
        for key in 0..=MOST {
            map.insert(key, key);
        }
        assert_eq!(map.len(), MOST);
        assert_eq!(map.remove(&0), None);
        assert_eq!(map.remove(&1), Some(1));
        assert_eq!(map.remove(&MOST), Some(MOST));
    }

    #[test]
    fn what_comes_and_goes_leaves_nothing() {
        let mut map = Bounded::default();
        map.insert(0, 0);
        for key in 1..10 * MOST {
            map.insert(key, key);
            map.remove(&key);
        }
        assert!(map.order.len() <= 2 * MOST + 1, "{}", map.order.len());
    }
}
