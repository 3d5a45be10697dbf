//! Handing sinks and audits over, off the path.

use std::{sync::Arc, time::Duration};

use super::{BlockKind, Blocked, Chain, Failure, Report, invoke::record, report::PendingReport, run::Job};
use crate::{
    interceptor::{ChainStatus, Overflow},
    message::Deferred,
};

impl Chain {
    /// Logs a decision and starts what runs off the path. With `deferred`, what sinks are to see waits there
    /// until validation further out has passed the message.
    ///
    /// An `Err` is the block of a sink that must record and cannot.
    pub(crate) fn dispatch(
        &self,
        report: Report,
        jobs: Vec<Job>,
        deferred: Option<&Deferred>,
    ) -> Result<(), (Blocked, super::DecisionId)> {
        let decision = report.decision;
        log(&report);
        if jobs.is_empty() && self.0.observers.is_empty() {
            return Ok(());
        }
        let pending = Arc::new(PendingReport::new(report, Arc::clone(&self.0.observers)));
        let mut blocked = None;
        for job in jobs {
            match deferred {
                Some(deferred) if job.sink => {
                    let (chain, pending) = (self.clone(), Arc::clone(&pending));
                    deferred.push(move || _ = chain.start(job, &pending));
                }
                _ => {
                    let must_record = self.entry(job.entry).overflow == Overflow::Block;
                    let index = job.entry;
                    if !self.start(job, &pending) && must_record {
                        blocked.get_or_insert(index);
                    }
                }
            }
        }
        let Some(index) = blocked else { return Ok(()) };
        let entry = self.entry(index);
        let block = Blocked {
            interceptor: entry.name.clone(),
            is_remote: entry.server.is_some(),
            kind: BlockKind::NotRecorded,
            reason: Failure::Dropped.to_string(),
        };
        pending.block(block.clone());
        Err((block, decision))
    }

    /// `false` when there was no room.
    fn start(&self, job: Job, pending: &Arc<PendingReport>) -> bool {
        let entry = self.entry(job.entry);
        let size = job.invocation.payload.as_json().len() + 256;
        let is_sink = job.sink;
        let (chain, report) = (self.clone(), Arc::clone(pending));
        let mut job = job;
        if is_sink {
            // What waits in a queue must not keep the whole message alive.
            job.invocation.payload = job.invocation.payload.detached();
        }
        let run = async move { report.add(job.run(&chain).await) };
        let started = if is_sink {
            entry.queue.push(&self.0.off_path, size, Box::pin(run))
        } else {
            self.0.off_path.spawn(size, run)
        };
        if !started {
            tracing::warn!(interceptor = ?entry.name, "dropped an event: the queue is full");
            pending.add(record(entry, Err(Failure::Dropped), Duration::ZERO));
        }
        started
    }
}

/// Names come from configuration and peers: `?` escapes them.
fn log(report: &Report) {
    let decision = report.decision;
    match &report.blocked {
        Some(blocked) => tracing::warn!(
            %decision, event = ?report.event, phase = report.phase.as_str(), interceptor = ?blocked.interceptor,
            kind = blocked.kind.as_str(), reason = ?blocked.reason, "blocked"
        ),
        None if report.status == ChainStatus::Success => tracing::debug!(
            %decision, event = ?report.event, phase = report.phase.as_str(), modified = report.modified, "passed"
        ),
        None => {}
    }
    for record in &report.records {
        if let Err(failure) = &record.outcome {
            tracing::warn!(
                %decision, interceptor = ?record.interceptor, failure = ?failure.to_string(), "interceptor failed"
            );
        }
    }
}
