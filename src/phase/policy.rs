//! What one layer does of a chain.

use std::sync::Arc;

use tokio::time::Instant;

use super::block;
use crate::{
    chain::{Chain, ChainSource, Flow, Plan, Side, Steps, Subject, run},
    interceptor::Phase,
    message::{Asked, Exchange, Kind, Message, Origin},
};

/// A chain, and which of its steps a layer takes.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    source: ChainSource,
    part: Part,
}

/// Which steps a layer takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    All(Side),
    Mutate,
    Validate,
    Sink,
}

impl Policy {
    pub(crate) fn new(source: impl Into<ChainSource>, part: Part) -> Self {
        Self {
            source: source.into(),
            part,
        }
    }

    pub(super) fn bind(&self, message: &Message) -> Bound {
        Bound {
            chain: self.source.chain(message.exchange()),
            part: self.part,
        }
    }
}

/// The policy of one exchange: its chain is fixed.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) chain: Chain,
    part: Part,
}

/// What is to be done with a message.
pub(super) enum Look {
    /// Nothing: nobody hooks it.
    Pass,
    /// An answer that nobody can name. It is not let through while answers are hooked.
    Unknown,
    /// It is hooked, as this event in this phase.
    Hooked(Phase, Option<Arc<Asked>>),
}

/// What came of a message.
pub(super) enum Verdict {
    Pass(Message),
    /// What to say in its place, to the one who is waiting.
    Block(Message),
}

impl Bound {
    fn steps(&self, flow: Flow) -> Steps {
        match self.part {
            Part::All(side) => Steps::all(side, flow),
            Part::Mutate => Steps::MUTATE,
            Part::Validate => Steps::VALIDATE,
            Part::Sink => Steps::SINK,
        }
    }

    fn plan(&self, hash: u64, event: &[u8], phase: Phase) -> Option<&Plan> {
        let plan = self.chain.plans().get(hash, event, phase)?;
        let concerned = match self.part {
            Part::All(_) => true,
            Part::Mutate => !plan.mutators.is_empty(),
            Part::Validate => !plan.validators.is_empty(),
            Part::Sink => !plan.sinks.is_empty(),
        };
        concerned.then_some(plan)
    }

    /// Whether the reply to `origin` must be seen: its answer, or what the server may say before it.
    pub(super) fn must_see_reply_to(&self, origin: &Origin) -> bool {
        let answer = self.plan(origin.hash(), origin.method(), Phase::Response);
        answer.is_some_and(|plan| plan.enforced) || self.chain.plans().enforced_server_request()
    }

    /// Whether a stream that belongs to no request must be seen.
    pub(super) fn must_see_stream(&self) -> bool {
        let plans = self.chain.plans();
        plans.enforced_response() || plans.enforced_server_request()
    }

    pub(super) fn wants_request_of(&self, origin: &Origin) -> bool {
        self.plan(origin.hash(), origin.method(), Phase::Response)
            .is_some_and(|plan| plan.with_request)
    }

    /// Looks whether anything is to be done, without an allocation where not. `origin` is the request in whose
    /// reply an outward message came.
    pub(super) fn look(&self, message: &Message, origin: Option<&Origin>) -> Look {
        if message.is_made_by_stack() {
            return Look::Pass;
        }
        match message.kind() {
            Kind::Listen | Kind::End => Look::Pass,
            Kind::Request | Kind::Notification => {
                match self.plan(message.method_hash(), message.method_bytes(), Phase::Request) {
                    Some(_) => Look::Hooked(Phase::Request, None),
                    None => Look::Pass,
                }
            }
            Kind::Response | Kind::Error => self.look_at_answer(message, origin),
        }
    }

    fn look_at_answer(&self, message: &Message, origin: Option<&Origin>) -> Look {
        if let Some(asked) = message.in_reply_to() {
            // Who marked the answer need not have kept the request.
            let kept = origin
                .filter(|origin| asked.payload().is_none() && origin.is_answered_by(message))
                .and_then(Origin::request);
            let asked = match kept {
                Some(request) => Arc::new(Asked::clone(asked).with_payload(request.clone())),
                None => Arc::clone(asked),
            };
            return self.look_at_answer_to(message, asked);
        }
        match origin {
            Some(origin) if origin.is_answered_by(message) => {
                match self.plan(origin.hash(), origin.method(), Phase::Response) {
                    Some(plan) if shows(plan, message) => {
                        Look::Hooked(Phase::Response, Some(origin.to_asked()))
                    }
                    _ => Look::Pass,
                }
            }
            _ if self.chain.plans().enforced_response() => Look::Unknown,
            _ => Look::Pass,
        }
    }

    /// The same for an answer of which is known what it answers.
    pub(super) fn look_at_answer_to(&self, message: &Message, asked: Arc<Asked>) -> Look {
        match self.plan(asked.method_hash(), asked.method().as_bytes(), Phase::Response) {
            Some(plan) if shows(plan, message) => Look::Hooked(Phase::Response, Some(asked)),
            _ => Look::Pass,
        }
    }

    /// Runs this layer's steps on a hooked message.
    pub(super) async fn run(
        &self,
        flow: Flow,
        phase: Phase,
        mut message: Message,
        asked: Option<Arc<Asked>>,
    ) -> Verdict {
        let event: Arc<str> = match &asked {
            Some(asked) => asked.method().into(),
            None => message.method().unwrap_or_default().into(),
        };
        let hash = asked
            .as_ref()
            .map_or(message.method_hash(), |asked| asked.method_hash());
        let Some(plan) = self.chain.plans().get(hash, event.as_bytes(), phase) else {
            return Verdict::Pass(message);
        };
        let payload = message.payload().clone();
        let subject = Subject {
            event,
            phase,
            is_error: message.kind() == Kind::Error,
            request: asked.as_ref().and_then(|asked| asked.payload().cloned()),
            context: Arc::new(self.chain.context(message.exchange(), &payload)),
            exchange: Arc::clone(message.exchange()),
            payload,
            selection: None,
        };
        // One budget for the phase: the layers of a hand-made stack find it in the message.
        let deadline = message.phase_deadline(|| Instant::now() + self.chain.phase_timeout());
        let steps = self.steps(flow);
        let mut ran = run(&self.chain, plan, steps, subject, deadline).await;
        if ran.report.modified {
            match message.clone().with_payload(&ran.payload) {
                Ok(changed) => message = changed,
                Err(error) => ran.block_mutation(error.to_string()),
            }
        }
        let waits = matches!((self.part, flow), (Part::Sink, Flow::Outward));
        let blocked = ran
            .report
            .blocked
            .clone()
            .map(|blocked| (blocked, ran.report.decision));
        let deferred = if waits { Some(message.deferred_mut()) } else { None };
        let dispatched = self.chain.dispatch(ran.report, ran.off_path, deferred);
        match blocked.or(dispatched.err()) {
            Some((blocked, decision)) => {
                if let Some(deferred) = message.deferred() {
                    deferred.cancel();
                }
                let answer = block::answer(
                    &self.chain,
                    &message,
                    asked.as_deref(),
                    &blocked,
                    decision,
                    &ran.verdicts,
                );
                Verdict::Block(answer)
            }
            None => {
                self.past_validation(&message);
                Verdict::Pass(message)
            }
        }
    }

    /// Lets go what sinks further in have left with a message, where this layer is the one that validates:
    /// also where no validator concerns the message, as then none further out will.
    pub(super) fn past_validation(&self, message: &Message) {
        let validates = matches!(self.part, Part::All(_) | Part::Validate);
        if let Some(deferred) = message.deferred().filter(|_| validates) {
            deferred.release();
        }
    }

    /// The answer in place of a reply that is hooked and cannot be read.
    pub(super) fn unreadable(&self, origin: &Origin, exchange: &Arc<Exchange>) -> Message {
        let asked = origin.to_asked();
        let first = self
            .plan(origin.hash(), origin.method(), Phase::Response)
            .and_then(Plan::first);
        let report = self.chain.refusal(asked.method(), first, Arc::clone(exchange));
        let answer = block::unreadable(&asked, exchange, report.decision);
        // Nothing runs off the path, so nothing can fail to be recorded.
        _ = self.chain.dispatch(report, Vec::new(), None);
        answer
    }
}

/// Errors are shown to those that ask for them.
fn shows(plan: &Plan, answer: &Message) -> bool {
    answer.kind() == Kind::Response || plan.errors
}
