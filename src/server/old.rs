//! The dialect of 2025, for gateways that still speak it.

use serde_json::value::RawValue;

use super::{eras::raw, errors::Refusal};
use crate::{
    chain::Chain,
    interceptor::{
        ChainParams, ChainStatus, Descriptor, InterceptorType, InterceptorsCapability, Members, Outcome,
        Phase, UnknownOutcome, WireOutcome, WireResult,
    },
    message::{Era, Message},
};

/// What sinks were called.
const OBSERVABILITY: &str = "observability";

/// `interceptor/executeChain`: the whole of what is hosted, run here.
pub(super) struct OldDialect {
    chain: Chain,
}

impl OldDialect {
    pub(super) fn new(chain: Chain) -> Self {
        Self { chain }
    }

    pub(super) async fn execute(&self, message: &Message) -> Result<Box<RawValue>, Refusal> {
        let params: ChainParams = message
            .payload()
            .parse()
            .map_err(|error| Refusal::invalid_params(error.to_string()))?;
        let mut result = self.chain.execute(params).await;
        result.results = result.results.into_iter().map(self::result).collect();
        // The reason of a failure may be its inner text; that of a verdict stands in its result.
        if let Some(aborted) = &mut result.aborted_at {
            aborted.reason = match result.status {
                ChainStatus::ValidationFailed => "validation failed",
                ChainStatus::MutationFailed => "mutation failed",
                _ => "timed out",
            }
            .into();
        }
        let json = raw(&result);
        if message.era() != Era::Modern {
            return Ok(json);
        }
        let mut members: Members = serde_json::from_str(json.get()).unwrap_or_default();
        members.insert("resultType", raw(&"complete"));
        Ok(raw(&members))
    }
}

/// With flat `events` and `phase` beside the hooks. Two hooks of different events become one that covers both:
/// what is too much is refused when it is invoked, and skipped in a chain.
pub(super) fn descriptor(descriptor: &Descriptor) -> Descriptor {
    let mut old = descriptor.clone();
    if old.kind == InterceptorType::Sink {
        old.kind = InterceptorType::Unknown(OBSERVABILITY.into());
    }
    let mut events: Vec<&str> = Vec::new();
    for event in descriptor.hooks.iter().flat_map(|hook| &hook.events) {
        if !events.contains(&event.as_str()) {
            events.push(event.as_str());
        }
    }
    let has = |phase: Phase| descriptor.hooks.iter().any(|hook| hook.phase == phase);
    let phase = match (has(Phase::Request), has(Phase::Response)) {
        (true, false) => "request",
        (false, true) => "response",
        _ => "both",
    };
    old.extra.insert("events", raw(&events));
    old.extra.insert("phase", raw(&phase));
    old
}

/// A sink's word that it has taken note, as it was said.
pub(super) fn result(mut result: WireResult) -> WireResult {
    let WireOutcome::Known(Outcome::Sink(sink)) = &result.outcome else {
        return result;
    };
    result.extra.insert("observed", raw(&sink.recorded));
    if !sink.metrics.is_empty() {
        result.extra.insert("metrics", raw(&sink.metrics));
    }
    if let Some(info) = &sink.info {
        result.extra.insert("info", info.clone());
    }
    let kind = OBSERVABILITY.into();
    result.outcome = WireOutcome::Unknown(UnknownOutcome { kind });
    result
}

/// The capabilities that a server of interceptors has: that one.
pub(super) fn capabilities(capability: &InterceptorsCapability, old: bool) -> Box<RawValue> {
    let mut capabilities = capability.to_capabilities();
    if old {
        let mut experimental = Members::new();
        experimental.insert("interceptors", raw(capability));
        capabilities.insert("experimental", raw(&experimental));
    }
    raw(&capabilities)
}
