//! `interceptor/invoke`.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    eras::raw,
    errors::Refusal,
    host::{Host, Hosted},
    old,
};
use crate::{
    chain::{self, Failure},
    interceptor::{Invocation, InvokeParams, Outcome, WireResult},
    message::{Era, Message, Payload},
};

pub(super) async fn invoke(host: &Host, message: &Message) -> Result<Box<RawValue>, Refusal> {
    let params: InvokeParams = message
        .payload()
        .parse()
        .map_err(|error| Refusal::invalid_params(error.to_string()))?;
    let hosted = host
        .find(&params.name)
        .ok_or_else(|| Refusal::unknown_interceptor(&params.name))?;
    if !hosted.descriptor().is_hooked(&params.event, params.phase) {
        return Err(Refusal::hook_mismatch(&params.name, &params.event, params.phase));
    }
    let config: Option<Arc<RawValue>> = match params.config {
        Some(config) => Some(config.into()),
        None => hosted.entry.config.clone(),
    };
    if let Some(schema) = &hosted.schema {
        schema
            .check(config.as_deref())
            .map_err(|reason| Refusal::invalid_params(format!("`config`: {reason}")))?;
    }
    let asked = [params.timeout, hosted.entry.timeout];
    let limit = asked.into_iter().flatten().min().unwrap_or(host.default_timeout);
    let limit = limit.min(host.max_timeout);

    let phase = params.phase;
    let payload = Payload::from_raw(params.payload);
    let mut invocation = Invocation::new(
        Arc::clone(&hosted.entry.name),
        params.event,
        phase,
        payload.clone(),
    );
    invocation.config = config;
    invocation.context = Arc::new(params.context.unwrap_or_default());
    invocation.exchange = Arc::clone(message.exchange());

    let record = chain::invoke(&hosted.entry, invocation, Instant::now() + limit).await;
    let failed = |failure: &Failure| Refusal::failed(&params.name, phase, limit, failure);
    let outcome = match record.outcome {
        Ok(outcome) => complete(outcome, &payload).map_err(|failure| failed(&failure))?,
        Err(failure) => return Err(failed(&failure)),
    };
    Ok(write(host, message, hosted, phase, outcome, record.duration))
}

/// The payload is always there, also where it stays as it was.
fn complete(outcome: Outcome, original: &Payload) -> Result<Outcome, Failure> {
    let Outcome::Mutation(mut result) = outcome else {
        return Ok(outcome);
    };
    let payload = result
        .apply_to(original)
        .map_err(|error| Failure::Malformed(error.to_string()))?;
    if result.modified && payload.as_json() == "null" {
        return Err(Failure::Malformed("the payload became null".into()));
    }
    result.payload = Some(payload);
    Ok(Outcome::Mutation(result))
}

fn write(
    host: &Host,
    message: &Message,
    hosted: &Hosted,
    phase: crate::interceptor::Phase,
    outcome: Outcome,
    duration: std::time::Duration,
) -> Box<RawValue> {
    let mut result = WireResult::new(&*hosted.descriptor().name, phase, outcome).with_duration(duration);
    if host.old.is_some() {
        result = old::result(result);
    }
    if message.era() == Era::Modern {
        result.extra.insert("resultType", raw(&"complete"));
    }
    raw(&result)
}
