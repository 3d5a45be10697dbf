//! What a run of a chain leaves behind.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{DecisionId, Entry, Failure};
use crate::{
    interceptor::{
        AbortKind, AbortedAt, ChainResult, ChainStatus, InterceptorType, Mode, Outcome, Phase, SinkResult,
        ValidationSummary, WireResult,
    },
    message::Exchange,
};

/// The report of one run: what each interceptor decided, and what came of it.
///
/// Reports are the source of audit records. They know what validation stopped, which no sink does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The number of the decision.
    pub decision: DecisionId,
    /// The event.
    pub event: Arc<str>,
    /// The phase.
    pub phase: Phase,
    /// What came of it.
    pub status: ChainStatus,
    /// What each interceptor did, in the order of the run; sinks and audits come last.
    pub records: Vec<Record>,
    /// Why the message was blocked, where it was.
    pub blocked: Option<Blocked>,
    /// Whether the payload was changed.
    pub modified: bool,
    /// How long the message was held.
    pub duration: Duration,
    /// The exchange it happened in.
    pub exchange: Arc<Exchange>,
}

/// What one interceptor did in a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// Its name.
    pub interceptor: Arc<str>,
    /// The server that hosts it, unless it is in process.
    pub server: Option<Arc<str>>,
    /// Its type.
    pub kind: InterceptorType,
    /// Its mode in this chain.
    pub mode: Mode,
    /// What it answered, or why it did not.
    pub outcome: Result<Outcome, Failure>,
    /// How long it took.
    pub duration: Duration,
}

/// Why a message was blocked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Blocked {
    /// The interceptor that blocked it; the first in declaration order where several did.
    pub interceptor: Arc<str>,
    /// Whether that interceptor runs on a server.
    pub is_remote: bool,
    /// What kind of block it is.
    pub kind: BlockKind,
    /// The reason. For the operator; what a client is told of it is a setting.
    pub reason: String,
}

impl Blocked {
    /// The block of a sink that must record and cannot.
    pub(crate) fn not_recorded(entry: &Entry, why: &Failure) -> Self {
        Self {
            interceptor: entry.name.clone(),
            is_remote: entry.server.is_some(),
            kind: BlockKind::NotRecorded,
            reason: why.to_string(),
        }
    }
}

/// What kind of block a [`Blocked`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockKind {
    /// A verdict.
    Verdict,
    /// A mutator that must not fail did.
    MutationFailed,
    /// A validator that must not fail did.
    ValidationFailed,
    /// The phase's budget was used up by work that must not fail.
    Timeout,
    /// A sink that must record could not.
    NotRecorded,
}

impl BlockKind {
    pub(crate) fn status(self) -> ChainStatus {
        match self {
            Self::Verdict | Self::ValidationFailed | Self::NotRecorded => ChainStatus::ValidationFailed,
            Self::MutationFailed => ChainStatus::MutationFailed,
            Self::Timeout => ChainStatus::Timeout,
        }
    }

    /// The `data.kind` of the error that a client gets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verdict => "blocked",
            Self::MutationFailed => "mutation_failed",
            Self::ValidationFailed | Self::NotRecorded => "validation_failed",
            Self::Timeout => "timeout",
        }
    }
}

impl Report {
    /// The report in the SEP's form, without the payload.
    #[must_use]
    pub fn to_chain_result(&self) -> ChainResult {
        let mut result = ChainResult::new(self.status, &*self.event, self.phase);
        result.validation_summary = self.summary();
        result.total_duration = self.duration;
        result.aborted_at = self.blocked.as_ref().map(|blocked| {
            let kind = match blocked.kind {
                BlockKind::MutationFailed => AbortKind::Mutation,
                BlockKind::Timeout => AbortKind::Timeout,
                BlockKind::Verdict | BlockKind::ValidationFailed | BlockKind::NotRecorded => {
                    AbortKind::Validation
                }
            };
            AbortedAt::new(kind, &*blocked.interceptor, &*blocked.reason)
        });
        result.results = self
            .records
            .iter()
            .filter_map(|record| record.to_wire(self.phase))
            .collect();
        result
    }

    /// How many findings of each severity the validators had, audits included.
    #[must_use]
    pub fn summary(&self) -> ValidationSummary {
        let mut summary = ValidationSummary::default();
        for record in &self.records {
            if let Ok(Outcome::Validation(verdict)) = &record.outcome {
                summary.add(verdict);
            }
        }
        summary
    }
}

impl Record {
    /// A failed sink has recorded nothing; what else failed has no result to show.
    fn to_wire(&self, phase: Phase) -> Option<WireResult> {
        let outcome = match &self.outcome {
            Ok(outcome) => outcome.clone(),
            Err(_) if self.kind == InterceptorType::Sink => SinkResult::skipped().into(),
            Err(_) => return None,
        };
        let result = WireResult::new(&*self.interceptor, phase, outcome).with_duration(self.duration);
        Some(result.with_mode(self.mode))
    }
}

/// Gets the report of every run, once all that ran off the path has ended too.
///
/// It is called on the path or in a task of the runtime: hand over and return.
pub trait Observer: Send + Sync + 'static {
    /// Takes note of a report. Keep no slice of its payloads.
    fn report(&self, report: &Report);
}

impl<F: Fn(&Report) + Send + Sync + 'static> Observer for F {
    fn report(&self, report: &Report) {
        self(report);
    }
}

/// A report that may not be complete. The last one to let it go hands it to the observers.
pub(crate) struct PendingReport {
    report: Mutex<Report>,
    observers: Arc<[Arc<dyn Observer>]>,
}

impl PendingReport {
    pub(crate) fn new(report: Report, observers: Arc<[Arc<dyn Observer>]>) -> Self {
        Self {
            report: Mutex::new(report),
            observers,
        }
    }

    pub(crate) fn add(&self, record: Record) {
        self.report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .records
            .push(record);
    }

    /// A sink that must record could not: what had passed is blocked after all.
    pub(crate) fn block(&self, blocked: Blocked) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.status = blocked.kind.status();
        report.blocked = Some(blocked);
    }
}

impl Drop for PendingReport {
    fn drop(&mut self) {
        let report = self.report.get_mut().unwrap_or_else(PoisonError::into_inner);
        tell(&self.observers, report);
    }
}

/// Tells the observers. One that panics costs nobody else anything.
pub(crate) fn tell(observers: &[Arc<dyn Observer>], report: &Report) {
    for observer in observers {
        let told = catch_unwind(AssertUnwindSafe(|| observer.report(report)));
        if told.is_err() {
            tracing::error!(decision = %report.decision, "an observer of the chain panicked");
        }
    }
}

impl fmt::Debug for PendingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingReport")
    }
}
