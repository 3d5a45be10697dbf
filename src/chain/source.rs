//! Where a stack takes its chain from: a fixed one, or one that can be swapped.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;

use super::Chain;
use crate::message::Exchange;

/// A chain that can be replaced while traffic flows, whole. An exchange that has begun keeps the chain it
/// began with, through all its layers and to the end of its stream.
///
/// ```
/// use mcp_interceptors::chain::{Chain, SharedChain};
///
/// let shared = SharedChain::new(Chain::builder().build().unwrap());
/// let source = shared.clone();
/// shared.swap(Chain::builder().build().unwrap());
/// # let _ = source;
/// ```
#[derive(Clone)]
pub struct SharedChain(Arc<ArcSwap<Chain>>);

impl SharedChain {
    /// Begins with that chain.
    #[must_use]
    pub fn new(chain: Chain) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(chain)))
    }

    /// Replaces the chain, for exchanges that begin from now on.
    pub fn swap(&self, chain: Chain) {
        self.0.store(Arc::new(chain));
    }

    /// The chain of now.
    #[must_use]
    pub fn current(&self) -> Chain {
        Chain::clone(&self.0.load())
    }
}

impl fmt::Debug for SharedChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedChain").field(&self.current()).finish()
    }
}

/// What a layer takes its chain from.
#[derive(Clone, Debug)]
pub struct ChainSource(Source);

#[derive(Clone, Debug)]
enum Source {
    Fixed(Chain),
    Shared(SharedChain),
}

impl ChainSource {
    /// The chain of an exchange: the one it began with.
    pub(crate) fn chain(&self, exchange: &Exchange) -> Chain {
        match &self.0 {
            Source::Fixed(chain) => chain.clone(),
            Source::Shared(shared) => shared.of(exchange),
        }
    }
}

impl SharedChain {
    fn of(&self, exchange: &Exchange) -> Chain {
        // One snapshot a source: two layers may take their chains from two sources.
        let snapshots = exchange.slots().get_or_insert(Arc::<Snapshots>::default);
        snapshots.of(self)
    }
}

#[derive(Default)]
struct Snapshots(std::sync::Mutex<Vec<(SharedChain, Chain)>>);

impl Snapshots {
    fn of(&self, shared: &SharedChain) -> Chain {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, chain)) = all.iter().find(|(known, _)| Arc::ptr_eq(&known.0, &shared.0)) {
            return chain.clone();
        }
        let chain = shared.current();
        all.push((shared.clone(), chain.clone()));
        chain
    }
}

impl From<Chain> for ChainSource {
    fn from(chain: Chain) -> Self {
        Self(Source::Fixed(chain))
    }
}

impl From<&Chain> for ChainSource {
    fn from(chain: &Chain) -> Self {
        chain.clone().into()
    }
}

impl From<SharedChain> for ChainSource {
    fn from(shared: SharedChain) -> Self {
        Self(Source::Shared(shared))
    }
}
