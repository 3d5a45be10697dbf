//! The engine: runs a plan on one payload. Every surface (layers, [`Chain::execute`]) uses it.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream::FuturesOrdered};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    BlockKind, Blocked, Chain, DecisionId, Entry, Failure, Record, Report, invoke,
    plan::Plan,
    protected,
    steps::{Step, Steps},
};
use crate::{
    interceptor::{
        ChainStatus, InterceptorType, Invocation, InvocationContext, Outcome, Phase, ValidationResult,
    },
    message::{Exchange, JsonKind, Payload},
};

/// What a chain is run on.
pub(crate) struct Subject {
    pub(crate) event: Arc<str>,
    pub(crate) phase: Phase,
    pub(crate) payload: Payload,
    pub(crate) is_error: bool,
    pub(crate) request: Option<Payload>,
    pub(crate) context: Arc<InvocationContext>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) selection: Option<Selection>,
}

/// What a caller of [`Chain::execute`] chooses for one run.
pub(crate) struct Selection {
    /// The interceptors that run; every one when empty.
    pub(crate) names: Vec<String>,
    /// Their configuration, by name.
    pub(crate) config: BTreeMap<String, Box<RawValue>>,
}

/// What a run came to. Nothing that runs off the path has been started yet.
pub(crate) struct Ran {
    pub(crate) payload: Payload,
    /// The verdicts that block, for the reply.
    pub(crate) verdicts: Vec<(Arc<str>, bool, ValidationResult)>,
    pub(crate) report: Report,
    pub(crate) off_path: Vec<Job>,
}

impl Ran {
    /// What the mutators made is no message any more.
    pub(crate) fn block_mutation(&mut self, reason: String) {
        let mutators = self
            .report
            .records
            .iter()
            .rev()
            .filter(|record| record.kind == InterceptorType::Mutation);
        let last = mutators
            .map(|record| (record.interceptor.clone(), record.server.is_some()))
            .next();
        let (interceptor, is_remote) = last.unwrap_or_else(|| ("".into(), false));
        let kind = BlockKind::MutationFailed;
        self.report.blocked = Some(Blocked {
            interceptor,
            is_remote,
            kind,
            reason,
        });
        self.report.status = kind.status();
        self.report.modified = false;
        self.off_path.retain(|job| !job.sink);
    }
}

/// An interceptor to run off the path.
pub(crate) struct Job {
    pub(crate) entry: usize,
    pub(crate) sink: bool,
    pub(crate) invocation: Invocation,
}

/// Runs the steps of a plan, until one blocks.
pub(crate) async fn run(
    chain: &Chain,
    plan: &Plan,
    steps: Steps,
    subject: Subject,
    deadline: Instant,
) -> Ran {
    let started = Instant::now();
    let mut run = Run {
        chain,
        plan,
        unreadable: subject
            .payload
            .check()
            .err()
            .map(|error| Failure::Unreadable(error.to_string())),
        payload: subject.payload.clone(),
        subject,
        deadline,
        records: Vec::new(),
        verdicts: Vec::new(),
        off_path: Vec::new(),
    };
    let mut blocked = None;
    let mut judged = false;
    for step in steps.iter() {
        let done = match step {
            // Where what is received was judged before it was changed, and the change may concern what the
            // message is, it is judged once more.
            Step::Mutate => match run.mutate().await {
                Ok(()) if judged && run.has_freed_change() => run.validate().await,
                done => done,
            },
            Step::Validate => {
                judged = true;
                run.validate().await
            }
            Step::Sink => run.sink(),
        };
        if let Err(block) = done {
            blocked = Some(block);
            break;
        }
    }
    let Run {
        payload,
        subject,
        records,
        verdicts,
        off_path,
        ..
    } = run;
    let report = Report {
        decision: DecisionId::next(),
        event: subject.event,
        phase: subject.phase,
        status: blocked
            .as_ref()
            .map_or(ChainStatus::Success, |blocked| blocked.kind.status()),
        records,
        modified: blocked.is_none() && !payload.same_text(&subject.payload),
        blocked,
        duration: started.elapsed(),
        exchange: subject.exchange,
    };
    Ran {
        payload,
        verdicts,
        report,
        off_path,
    }
}

struct Run<'a> {
    chain: &'a Chain,
    plan: &'a Plan,
    subject: Subject,
    payload: Payload,
    /// Why nobody can be shown the payload, where that is so.
    unreadable: Option<Failure>,
    deadline: Instant,
    records: Vec<Record>,
    verdicts: Vec<(Arc<str>, bool, ValidationResult)>,
    off_path: Vec<Job>,
}

impl<'a> Run<'a> {
    fn entry(&self, index: usize) -> &'a Entry {
        self.chain.entry(index)
    }

    fn invocation(&self, entry: &Entry) -> Invocation {
        let mut invocation = Invocation::new(
            entry.name.clone(),
            self.subject.event.clone(),
            self.subject.phase,
            self.payload.clone(),
        );
        invocation.is_error = self.subject.is_error;
        if entry.with_request {
            invocation.request = self.subject.request.clone();
        }
        let chosen = self
            .subject
            .selection
            .as_ref()
            .and_then(|chosen| chosen.config.get(&*entry.name));
        invocation.config = chosen
            .map(|config| Arc::from(config.to_owned()))
            .or_else(|| entry.config.clone());
        invocation.context = self.subject.context.clone();
        invocation.exchange = self.subject.exchange.clone();
        invocation
    }

    /// Whether it is to run on this message at all: errors are shown to those that ask for them.
    fn concerns(&self, entry: &Entry) -> bool {
        let chosen = self.subject.selection.as_ref().is_none_or(|selection| {
            selection.names.is_empty() || selection.names.iter().any(|name| **name == *entry.name)
        });
        chosen && (!self.subject.is_error || entry.errors)
    }

    async fn mutate(&mut self) -> Result<(), Blocked> {
        for &index in &self.plan.mutators {
            let entry = self.entry(index);
            if !self.concerns(entry) {
                continue;
            }
            if !entry.is_active() {
                self.audit(index, entry);
                continue;
            }
            let mut record = match &self.unreadable {
                Some(why) => invoke::unread(entry, why),
                None => invoke::invoke(entry, self.invocation(entry), self.deadline).await,
            };
            if let Ok(Outcome::Mutation(result)) = &record.outcome {
                let applied = result.apply_to(&self.payload);
                match applied
                    .map_err(|error| Failure::Malformed(error.to_string()))
                    .and_then(|new| self.accept(new))
                {
                    Ok(new) => self.payload = new,
                    Err(failure) => record.outcome = Err(failure),
                }
            }
            let block = self.judge(entry, &record, BlockKind::MutationFailed);
            self.records.push(record);
            block?;
        }
        Ok(())
    }

    /// Whether a mutator's payload can stand in for the one it got.
    fn accept(&self, new: Payload) -> Result<Payload, Failure> {
        if new.same_text(&self.payload) {
            return Ok(new);
        }
        let malformed = |error: crate::message::PayloadError| Failure::Malformed(error.to_string());
        let kind = new.view().map_err(malformed)?.kind();
        let was = self.payload.view().map_err(malformed)?.kind();
        if was == JsonKind::Object && kind != JsonKind::Object {
            return Err(Failure::Malformed("the payload must stay an object".into()));
        }
        // `"params":null` may become an object, and nothing else: the message would be none any more.
        let is_params = self.subject.phase == Phase::Request && was == JsonKind::Null;
        if is_params && !matches!(kind, JsonKind::Null | JsonKind::Object) {
            return Err(Failure::Malformed("the payload must be an object or null".into()));
        }
        protected::keep(self.subject.phase, &self.payload, new, self.chain.freed())
    }

    /// Whether the payload was changed by mutators that may change more than content.
    fn has_freed_change(&self) -> bool {
        !self.chain.freed().is_empty() && !self.payload.same_text(&self.subject.payload)
    }

    async fn validate(&mut self) -> Result<(), Blocked> {
        let mut running = FuturesOrdered::new();
        for &index in &self.plan.validators {
            let entry = self.entry(index);
            if !self.concerns(entry) {
                continue;
            }
            if !entry.is_active() {
                self.audit(index, entry);
                continue;
            }
            let (invocation, deadline) = (self.invocation(entry), self.deadline);
            let unreadable = self.unreadable.as_ref().map(|why| invoke::unread(entry, why));
            running.push_back(async move {
                match unreadable {
                    Some(record) => (entry, record),
                    None => (entry, invoke::invoke(entry, invocation, deadline).await),
                }
            });
        }
        // All of them end before anything is decided, and the first in declaration order is named.
        let mut first = None;
        while let Some((entry, record)) = running.next().await {
            if let Err(block) = self.judge(entry, &record, BlockKind::ValidationFailed) {
                first.get_or_insert(block);
            }
            self.records.push(record);
        }
        first.map_or(Ok(()), Err)
    }

    /// Whether what an active interceptor answered blocks. `failOpen` rescues a failure, never a verdict.
    fn judge(&mut self, entry: &Entry, record: &Record, failed: BlockKind) -> Result<(), Blocked> {
        let (kind, reason) = match &record.outcome {
            Ok(Outcome::Validation(verdict)) if verdict.blocks() => {
                self.verdicts
                    .push((entry.name.clone(), entry.server.is_some(), verdict.clone()));
                (BlockKind::Verdict, reason_of(verdict))
            }
            Ok(_) => return Ok(()),
            Err(_) if !entry.must_succeed() => return Ok(()),
            Err(failure @ Failure::PhaseTimeout) => (BlockKind::Timeout, failure.to_string()),
            Err(failure) => (failed, failure.to_string()),
        };
        Err(Blocked {
            interceptor: entry.name.clone(),
            is_remote: entry.server.is_some(),
            kind,
            reason,
        })
    }

    fn audit(&mut self, index: usize, entry: &Entry) {
        match &self.unreadable {
            Some(why) => self.records.push(invoke::unread(entry, why)),
            None => self.off_path.push(Job {
                entry: index,
                sink: entry.kind == InterceptorType::Sink,
                invocation: self.invocation(entry),
            }),
        }
    }

    fn sink(&mut self) -> Result<(), Blocked> {
        for &index in &self.plan.sinks {
            let entry = self.entry(index);
            if !self.concerns(entry) {
                continue;
            }
            match &self.unreadable {
                // One that must record and cannot read has not recorded.
                Some(why) if entry.must_record() => {
                    let blocked = Blocked::not_recorded(entry, why);
                    self.records.push(invoke::unread(entry, why));
                    return Err(blocked);
                }
                _ => self.audit(index, entry),
            }
        }
        Ok(())
    }
}

fn reason_of(verdict: &ValidationResult) -> String {
    let texts: Vec<_> = verdict.messages.iter().map(|message| &*message.message).collect();
    if texts.is_empty() {
        "refused".into()
    } else {
        texts.join("; ")
    }
}

impl Job {
    /// Runs it within its own budget: what runs off the path has none of the message's time.
    pub(crate) async fn run(self, chain: &Chain) -> Record {
        let entry = chain.entry(self.entry);
        invoke::invoke(entry, self.invocation, Instant::now() + chain.off_path_timeout()).await
    }
}
