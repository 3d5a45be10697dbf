//! The chain: which interceptors run on a message, in which order, and what comes of it.
//!
//! A [`Chain`] is compiled once and immutable. An event nobody hooks costs one look-up by hash.
//!
//! * **Mutators** run one after the other, by priority, then name; each gets what the one before made of the
//!   payload. If one that must not fail fails, nothing of the others is kept.
//! * **Validators** run at the same time, on the same payload; all of them end before anything is decided. The
//!   message is blocked when one says so with severity `error`.
//! * **Sinks** take note, in a queue off the path.
//! * In mode **audit** an interceptor runs off the path, with no effect.
//! * A crash, a panic, a timeout or an answer that cannot be used is a *failure* of that interceptor, and its
//!   `failOpen` decides. A verdict is never overruled by it. Panics are contained only where the program is
//!   built with `panic = "unwind"`.
//!
//! ```
//! use mcp_interceptors::{chain::Chain, interceptor::{ChainParams, Interceptor, Phase}, message::Payload};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_interceptors::BoxError> {
//! let shout = Interceptor::mutator("shout").on("tools/call").request().handler(|mut payload: Payload| async move {
//!     payload.edit_strings(|text| Some(text.to_uppercase())).map(|changed| changed.then_some(payload))
//! });
//! let chain = Chain::builder().interceptor(shout).build()?;
//! let result = chain.execute(ChainParams::new("tools/call", Phase::Request, json!({"text": "hi"}))).await;
//! assert_eq!(result.final_payload.unwrap().get(), r#"{"text":"HI"}"#);
//! # Ok(())
//! # }
//! ```

mod builder;
mod context;
mod decision;
mod dispatch;
mod entry;
mod execute;
mod failure;
mod invoke;
mod overrides;
mod plan;
mod protected;
mod report;
mod run;
mod sink_queue;
mod source;
mod steps;

use std::{fmt, sync::Arc, time::Duration};

use self::{builder::Settings, plan::Plans, sink_queue::OffPath};
use crate::{interceptor::Phase, message::Exchange};

pub use builder::{BuildError, ChainBuilder};
pub use decision::DecisionId;
pub(crate) use entry::Entry;
pub use failure::Failure;
pub(crate) use invoke::invoke;
pub use overrides::Overrides;
pub(crate) use plan::Plan;
pub use protected::Protected;
pub use report::{BlockKind, Blocked, Observer, Record, Report};
pub(crate) use run::{Subject, run};
pub use source::{ChainSource, SharedChain};
pub use steps::Side;
pub(crate) use steps::{Flow, Steps};

/// An immutable chain of interceptors. Cheap to clone.
#[derive(Clone)]
pub struct Chain(Arc<Inner>);

struct Inner {
    entries: Vec<Entry>,
    plans: Plans,
    off_path: Arc<OffPath>,
    observers: Arc<[Arc<dyn Observer>]>,
    settings: Settings,
}

/// How a blocked `tools/call` is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Surface {
    /// With a tool result that says `isError`: the model reads why.
    #[default]
    ToolResult,
    /// With a JSON-RPC error, as every other blocked request.
    JsonRpc,
}

/// What a client is told about a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// The messages of validators that run in process, which the operator wrote; of remote ones the name.
    #[default]
    Auto,
    /// The messages of every validator.
    Messages,
    /// The name of the validator.
    Name,
    /// That it was blocked.
    Generic,
}

impl Chain {
    /// Begins a chain.
    pub fn builder() -> ChainBuilder {
        ChainBuilder::new()
    }

    /// Whether anything is hooked at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.0.plans.any()
    }

    /// Whether any interceptor hooks that event in that phase.
    #[must_use]
    pub fn hooks(&self, event: &str, phase: Phase) -> bool {
        self.plans()
            .get(
                crate::message::event_hash(event.as_bytes()),
                event.as_bytes(),
                phase,
            )
            .is_some()
    }

    /// How many events for sinks and audits were dropped: the queue was full, or there was no runtime.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.off_path.dropped()
    }

    /// Completes when all sinks and audits that were started have ended. Call it before a program ends.
    pub async fn flush(&self) {
        self.0.off_path.flushed().await;
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.0.plans
    }

    pub(crate) fn entry(&self, index: usize) -> &Entry {
        &self.0.entries[index]
    }

    /// The report of a reply that was refused since nobody can read it; `entry` is one that was to.
    pub(crate) fn refusal(&self, event: &str, entry: Option<usize>, exchange: Arc<Exchange>) -> Report {
        let entry = entry.map(|index| self.entry(index));
        let kind = BlockKind::ValidationFailed;
        Report {
            decision: DecisionId::next(),
            event: event.into(),
            phase: Phase::Response,
            status: kind.status(),
            records: Vec::new(),
            blocked: Some(Blocked {
                interceptor: entry.map_or_else(|| "policy".into(), |entry| entry.name.clone()),
                is_remote: entry.is_some_and(|entry| entry.server.is_some()),
                kind,
                reason: "the reply cannot be read".into(),
            }),
            modified: false,
            duration: Duration::ZERO,
            exchange,
        }
    }

    pub(crate) fn freed(&self) -> &[Protected] {
        &self.0.settings.freed
    }

    pub(crate) fn phase_timeout(&self) -> Duration {
        self.0.settings.phase_timeout
    }

    pub(crate) fn off_path_timeout(&self) -> Duration {
        self.0.settings.off_path_timeout
    }

    pub(crate) fn surface(&self) -> Surface {
        self.0.settings.surface
    }

    pub(crate) fn detail(&self) -> Detail {
        self.0.settings.detail
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.entries.iter().map(|entry| &entry.name))
            .finish()
    }
}
