//! Keeping the lists of servers up to date, behind the calls.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    DiscoveryError, InterceptorServer, ServerError,
    merge::{Listed, Recipe},
};
use crate::{
    chain::{Chain, SharedChain},
    interceptor::Descriptor,
};

/// How often, and until when.
#[derive(Clone, Copy)]
pub(super) struct Intervals {
    pub(super) every: Duration,
    pub(super) at_most_every: Duration,
    pub(super) max_age: Duration,
}

/// Lists one server, whole.
pub(super) async fn list(server: &InterceptorServer, began: Instant) -> Result<Listed, DiscoveryError> {
    let list = server.list_all(None).await.map_err(DiscoveryError::Server)?;
    if let Some(rejected) = list.rejected.into_iter().next() {
        return Err(DiscoveryError::Unreadable {
            server: server.name().into(),
            name: rejected.name,
            reason: rejected.error,
        });
    }
    let mut names = HashSet::new();
    if let Some(twice) = list
        .interceptors
        .iter()
        .find(|descriptor| !names.insert(&descriptor.name))
    {
        let text = format!("it lists two interceptors named {:?}", twice.name);
        return Err(DiscoveryError::Server(ServerError::malformed(
            server.shared_name(),
            text,
        )));
    }
    Ok(Listed {
        server: server.clone(),
        descriptors: list.interceptors.into(),
        version: server.protocol_version(),
        at: began,
        expired: false,
    })
}

/// The lists, the chain made of them, and the tasks that renew both.
pub(super) struct Upkeep {
    pub(super) chain: SharedChain,
    recipe: Recipe,
    intervals: Intervals,
    lists: Mutex<Vec<Listed>>,
    /// One refresh at a time; inside, how the last one ended.
    flight: tokio::sync::Mutex<Result<(), DiscoveryError>>,
    flights: AtomicU64,
    /// A list is there anew.
    renewed: Notify,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Upkeep {
    pub(super) fn start(recipe: Recipe, lists: Vec<Listed>, chain: Chain, intervals: Intervals) -> Arc<Self> {
        let upkeep = Arc::new(Self {
            chain: SharedChain::new(chain),
            recipe,
            intervals,
            lists: Mutex::new(lists),
            flight: tokio::sync::Mutex::new(Ok(())),
            flights: AtomicU64::new(0),
            renewed: Notify::new(),
            tasks: Mutex::default(),
        });
        let tasks = vec![
            tokio::spawn(refresh_often(Arc::clone(&upkeep))),
            tokio::spawn(expire(Arc::clone(&upkeep))),
        ];
        *upkeep.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
        upkeep
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Listed>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn servers(&self) -> Vec<InterceptorServer> {
        self.lock().iter().map(|listed| listed.server.clone()).collect()
    }

    pub(super) fn listed(&self) -> Vec<(Arc<str>, Descriptor)> {
        let lists = self.lock();
        let all = lists.iter().flat_map(|listed| {
            let name = listed.server.shared_name();
            listed
                .descriptors
                .iter()
                .map(move |descriptor| (Arc::clone(name), descriptor.clone()))
        });
        all.collect()
    }

    pub(super) async fn refresh(&self) -> Result<(), DiscoveryError> {
        let seen = self.flights.load(Ordering::Acquire);
        let mut last = self.flight.lock().await;
        if self.flights.load(Ordering::Acquire) != seen {
            return last.clone();
        }
        let done = self.renew().await;
        self.flights.fetch_add(1, Ordering::Release);
        last.clone_from(&done);
        done
    }

    async fn renew(&self) -> Result<(), DiscoveryError> {
        let began = Instant::now();
        let servers = self.servers();
        let fresh = futures::future::join_all(servers.iter().map(|server| list(server, began))).await;
        let mut lists = self.lock();
        let mut new = lists.clone();
        let mut failed = None;
        let mut changed = false;
        for (listed, fresh) in new.iter_mut().zip(fresh) {
            match fresh {
                Ok(fresh) => {
                    changed |= listed.expired
                        || listed.descriptors != fresh.descriptors
                        || listed.version != fresh.version;
                    *listed = fresh;
                }
                Err(error) => {
                    tracing::warn!(%error, age = ?listed.at.elapsed(), "a list of interceptors could not be refreshed");
                    failed = Some(error);
                }
            }
        }
        if changed {
            match self.recipe.chain(&new, false) {
                Ok(chain) => self.chain.swap(chain),
                Err(error) => {
                    // The old lists stay, with their age.
                    tracing::error!(%error, "the lists of interceptors make no chain");
                    return Err(error);
                }
            }
        }
        *lists = new;
        drop(lists);
        self.renewed.notify_one();
        failed.map_or(Ok(()), Err)
    }

    /// Blocks what the interceptors of servers hook whose lists are too old. Returns when the next one will be.
    fn expire(&self) -> Option<Instant> {
        let mut lists = self.lock();
        let mut changed = false;
        for listed in lists.iter_mut().filter(|listed| !listed.expired) {
            if listed.at + self.intervals.max_age <= Instant::now() {
                tracing::error!(
                    server = listed.server.name(),
                    "ALARM: the list of interceptors is too old; their events are blocked"
                );
                listed.expired = true;
                changed = true;
            }
        }
        if changed {
            let chain = self.recipe.chain(&lists, false).or_else(|error| {
                tracing::error!(%error, "the lists of interceptors make no chain; nothing passes");
                self.recipe.closed("the lists of interceptors make no chain")
            });
            if let Ok(chain) = chain {
                self.chain.swap(chain);
            }
        }
        let living = lists.iter().filter(|listed| !listed.expired);
        living.map(|listed| listed.at + self.intervals.max_age).min()
    }

    pub(super) async fn close(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            task.abort();
        }
        for server in self.servers() {
            server.close().await;
        }
    }
}

async fn refresh_often(upkeep: Arc<Upkeep>) {
    let Intervals {
        every, at_most_every, ..
    } = upkeep.intervals;
    let mut last = Instant::now();
    let mut next = last + every;
    loop {
        if timeout_at(next, upkeep.recipe.doubt.notified()).await.is_ok() {
            sleep_until(last + at_most_every).await;
        }
        last = Instant::now();
        next = match upkeep.refresh().await {
            Ok(()) => Instant::now() + every,
            Err(_) => Instant::now() + at_most_every.min(every),
        };
    }
}

async fn expire(upkeep: Arc<Upkeep>) {
    loop {
        match upkeep.expire() {
            Some(next) => sleep_until(next).await,
            None => upkeep.renewed.notified().await,
        }
    }
}
