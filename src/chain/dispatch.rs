//! Handing sinks and audits over, off the path.

use std::{sync::Arc, time::Duration};

use super::{
    Blocked, Chain, Failure, Report, invoke::record, report::PendingReport, run::Job, sink_queue::Room,
};
use crate::{interceptor::ChainStatus, message::Deferred};

impl Chain {
    /// Logs a decision and starts what runs off the path. With `deferred`, what sinks are to see waits there
    /// until validation further out has passed the message.
    ///
    /// An `Err` is the block of a sink that must record and cannot. Room is found for all before any is
    /// started, so that no sink sees what another could not record.
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
        let mut started = Vec::with_capacity(jobs.len());
        for job in jobs {
            let entry = self.entry(job.entry);
            let size = job.invocation.payload.as_json().len() + 256;
            match self.0.off_path.room(size) {
                Some(room) => started.push((job, room)),
                None => {
                    tracing::warn!(interceptor = ?entry.name, "dropped an event: there is no room for it");
                    pending.add(record(entry, Err(Failure::Dropped), Duration::ZERO));
                    if job.sink && entry.must_record() {
                        blocked.get_or_insert(job.entry);
                    }
                }
            }
        }
        for (job, room) in started {
            match deferred {
                _ if job.sink && blocked.is_some() => {}
                Some(deferred) if job.sink => {
                    let (chain, pending) = (self.clone(), Arc::clone(&pending));
                    deferred.push(move || chain.start(job, room, &pending));
                }
                _ => self.start(job, room, &pending),
            }
        }
        let Some(index) = blocked else { return Ok(()) };
        let block = Blocked::not_recorded(self.entry(index), &Failure::Dropped);
        pending.block(block.clone());
        Err((block, decision))
    }

    fn start(&self, mut job: Job, room: Room, pending: &Arc<PendingReport>) {
        let entry = self.entry(job.entry);
        let (chain, report) = (self.clone(), Arc::clone(pending));
        let is_sink = job.sink;
        if is_sink {
            // What waits in a queue must not keep the whole message alive.
            job.invocation.payload = job.invocation.payload.detached();
        }
        let run = async move { report.add(job.run(&chain).await) };
        let started = if is_sink {
            entry.queue.push(room, Box::pin(run))
        } else {
            self.0.off_path.spawn(room, run)
        };
        if !started {
            tracing::warn!(interceptor = ?entry.name, "dropped an event: there is no runtime");
            pending.add(record(entry, Err(Failure::Dropped), Duration::ZERO));
        }
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
