//! Reading results in every form they have had.

use std::error::Error;
use std::fmt;

use serde::de;
use serde::{Deserialize, Deserializer};

use super::reason::reason;
use super::wire::{UnknownOutcome, WireOutcome, WireResult};
use super::{
    InterceptorType, Members, Mode, MutationResult, Outcome, Phase, SinkResult, ValidationResult, millis,
};

impl WireResult {
    /// Reads the answer to an invocation.
    ///
    /// `interceptor` and `phase` are those that were asked for: they stand in where the answer does not say, as
    /// in the SEP's own examples. A missing `type` follows from the other members.
    ///
    /// # Errors
    /// When the answer cannot be understood, or comes in another interceptor's name or for another phase. That
    /// is a failure of the interceptor.
    pub fn from_answer(json: &str, interceptor: &str, phase: Phase) -> Result<Self, InvalidAnswer> {
        let invalid = |why: &dyn fmt::Display| InvalidAnswer { reason: reason(why) };
        let members: Members = serde_json::from_str(json).map_err(|e| invalid(&e))?;
        let mut result =
            read_result::<serde_json::Error>(members, Some((interceptor, phase))).map_err(|e| invalid(&e))?;
        if result.interceptor != interceptor {
            return Err(invalid(&format_args!(
                "it comes in the name of {:?}",
                result.interceptor
            )));
        }
        if result.phase != phase {
            return Err(invalid(&format_args!("it is for the {} phase", result.phase)));
        }
        // Whether an answer takes effect is not for the one who gives it to say.
        result.mode = Mode::Active;
        Ok(result)
    }
}

impl<'de> Deserialize<'de> for WireResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_result(Members::deserialize(deserializer)?, None)
    }
}

fn read_result<E: de::Error>(mut members: Members, asked: Option<(&str, Phase)>) -> Result<WireResult, E> {
    let m = &mut members;
    let kind = match m.take_as::<InterceptorType, E>("type")? {
        Some(kind) => kind,
        None => infer_kind(m)?,
    };
    let named = m
        .take_as::<String, E>("interceptor")?
        .filter(|name| !name.is_empty());
    let phase = m.take_as::<Phase, E>("phase")?;
    let interceptor = named.or_else(|| asked.map(|(name, _)| name.to_owned()));
    let interceptor = interceptor.ok_or_else(|| E::missing_field("interceptor"))?;
    let phase = phase
        .or(asked.map(|(_, phase)| phase))
        .ok_or_else(|| E::missing_field("phase"))?;
    let duration = m.take("durationMs").and_then(|raw| millis::read(&raw));
    let mode = m.take_as("mode")?.unwrap_or_default();
    let outcome = match kind {
        InterceptorType::Validation => WireOutcome::Known(read_validation::<E>(m)?.into()),
        InterceptorType::Mutation => WireOutcome::Known(read_mutation::<E>(m)?.into()),
        InterceptorType::Sink => WireOutcome::Known(Outcome::Sink(read_sink::<E>(m)?)),
        InterceptorType::Unknown(kind) => WireOutcome::Unknown(UnknownOutcome { kind }),
    };
    Ok(WireResult {
        interceptor,
        phase,
        duration,
        mode,
        outcome,
        extra: members,
    })
}

/// The one type whose members are there.
fn infer_kind<E: de::Error>(members: &Members) -> Result<InterceptorType, E> {
    let has = |names: &[&str]| names.iter().any(|name| members.get(name).is_some());
    match (
        has(&["valid", "validation"]),
        has(&["modified", "mutation"]),
        has(&["recorded", "observed", "sink"]),
    ) {
        (true, false, false) => Ok(InterceptorType::Validation),
        (false, true, false) => Ok(InterceptorType::Mutation),
        (false, false, true) => Ok(InterceptorType::Sink),
        (false, false, false) => Err(E::missing_field("type")),
        _ => Err(E::custom("no `type`, and the members of more than one")),
    }
}

/// Lifts the members of a nested result (`"validation":{"valid":true}`) to where the newest form has them.
fn unnest<E: de::Error>(m: &mut Members, name: &'static str, known: &[&str]) -> Result<(), E> {
    let Some(mut nested) = m.take_as::<Members, E>(name)? else {
        return Ok(());
    };
    if m.get(known[0]).is_some() {
        // Two verdicts in one answer: neither can be believed.
        return Err(E::custom(format_args!(
            "`{}` is there flat and in `{name}`",
            known[0]
        )));
    }
    for member in known {
        if let Some(value) = nested.remove(member) {
            m.insert(*member, value);
        }
    }
    Ok(())
}

fn read_validation<E: de::Error>(m: &mut Members) -> Result<ValidationResult, E> {
    unnest::<E>(
        m,
        "validation",
        &["valid", "severity", "messages", "suggestions", "info"],
    )?;
    let mut result = ValidationResult::from(m.need::<bool, E>("valid")?);
    result.severity = m.take_as("severity")?;
    result.messages = m.take_as("messages")?.unwrap_or_default();
    result.suggestions = m.take_as("suggestions")?.unwrap_or_default();
    result.info = m.take("info");
    Ok(result)
}

fn read_mutation<E: de::Error>(m: &mut Members) -> Result<MutationResult, E> {
    unnest::<E>(m, "mutation", &["modified", "payload", "info"])?;
    let modified: bool = m.need("modified")?;
    let payload = m.take("payload");
    let mut result = match (modified, payload) {
        (false, _) => MutationResult::unmodified(),
        (true, Some(payload)) => MutationResult::modified_raw(payload),
        (true, None) => return Err(E::custom("modified, but there is no payload")),
    };
    result.info = m.take("info");
    Ok(result)
}

fn read_sink<E: de::Error>(m: &mut Members) -> Result<SinkResult, E> {
    unnest::<E>(m, "sink", &["recorded", "metrics", "info"])?;
    let observed = m.take_as::<bool, E>("observed")?;
    let recorded = m
        .take_as("recorded")?
        .or(observed)
        .ok_or_else(|| E::missing_field("recorded"))?;
    let mut result = if recorded {
        SinkResult::recorded()
    } else {
        SinkResult::skipped()
    };
    result.metrics = m.take_as("metrics")?.unwrap_or_default();
    result.info = m.take("info");
    Ok(result)
}

/// An answer of an interceptor that cannot be understood or is not for what was asked.
///
/// The text says why, for a log: it may quote the answer, shortened and without control characters, and is not for
/// the one whose message it was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAnswer {
    reason: String,
}

impl fmt::Display for InvalidAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an answer that cannot be used: {}", self.reason)
    }
}

impl Error for InvalidAnswer {}

#[cfg(test)]
mod tests;
