//! One interceptor, run once: whatever it does, this returns.

use std::{any::Any, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use tokio::time::Instant;
use tower::ServiceExt;

use super::{Entry, Failure, Record};
use crate::interceptor::{InterceptorType, Invocation, Outcome};

/// Runs an interceptor within its own time and until `deadline`, whichever is sooner.
///
/// Readiness counts, and so does the making of the future. A panic is a failure of this interceptor alone.
pub(crate) async fn invoke(entry: &Entry, mut invocation: Invocation, deadline: Instant) -> Record {
    let started = Instant::now();
    let own = entry.timeout.map(|timeout| (started + timeout, timeout));
    let (until, whole) = match own {
        Some((until, timeout)) if until < deadline => (until, Some(timeout)),
        _ => (deadline, None),
    };
    invocation.deadline = Some(until);
    let service = entry.service.clone();
    // The clock is inside: where there is no runtime it panics, and an interceptor whose time cannot be kept
    // has failed.
    let running =
        async move { tokio::time::timeout_at(until, async move { service.oneshot(invocation).await }).await };
    let outcome = match AssertUnwindSafe(running).catch_unwind().await {
        Err(panic) => Err(Failure::Panic(panic_message(&*panic))),
        Ok(Err(_)) => Err(whole.map_or(Failure::PhaseTimeout, Failure::Timeout)),
        Ok(Ok(Err(error))) => Err(Failure::Error(error.to_string())),
        Ok(Ok(Ok(outcome))) => expected(entry, outcome),
    };
    record(entry, outcome, started.elapsed())
}

pub(crate) fn record(entry: &Entry, outcome: Result<Outcome, Failure>, duration: Duration) -> Record {
    Record {
        interceptor: entry.name.clone(),
        server: entry.server.clone(),
        kind: entry.kind.clone(),
        mode: entry.mode,
        outcome,
        duration,
    }
}

/// An answer of another type is a failure, except that a mutator may refuse.
fn expected(entry: &Entry, outcome: Outcome) -> Result<Outcome, Failure> {
    let refusal = entry.kind == InterceptorType::Mutation && outcome.blocks();
    if outcome.kind() == entry.kind || refusal {
        Ok(outcome)
    } else {
        Err(Failure::Malformed(format!(
            "a {} answered with a {} result",
            entry.kind,
            outcome.kind()
        )))
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into())
}

/// The record of an interceptor that could not be shown the payload. That is its failure, never a skip.
pub(crate) fn unread(entry: &Entry, why: &Failure) -> Record {
    record(entry, Err(why.clone()), Duration::ZERO)
}
