//! Short names for what every row needs.

use std::sync::{Arc, Mutex};

use mcp_interceptors::{
    BoxError,
    chain::{Chain, Side},
    interceptor::{
        ChainParams, ChainResult, Interceptor, InterceptorBuilder, MutationResult, Mutator, Phase, Sink,
        Validator,
    },
    message::Payload,
};
use serde_json::{Value, json};

/// The event of most rows.
pub(crate) const CALL: &str = "tools/call";

pub(crate) fn mutator(name: &str) -> InterceptorBuilder<Mutator> {
    Interceptor::mutator(name).on(CALL).both()
}

pub(crate) fn validator(name: &str) -> InterceptorBuilder<Validator> {
    Interceptor::validator(name).on(CALL).both()
}

pub(crate) fn sink(name: &str) -> InterceptorBuilder<Sink> {
    Interceptor::sink(name).on(CALL).both()
}

/// What was called, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A mutator that notes its call and changes nothing.
pub(crate) fn noting_mutator(builder: InterceptorBuilder<Mutator>, log: &Log) -> Interceptor {
    let log = log.clone();
    builder.handler(move |invocation: mcp_interceptors::interceptor::Invocation| {
        log.push(&*invocation.name);
        async { None::<Payload> }
    })
}

/// A validator that notes its call and passes.
pub(crate) fn noting_validator(builder: InterceptorBuilder<Validator>, log: &Log) -> Interceptor {
    let log = log.clone();
    builder.handler(move |invocation: mcp_interceptors::interceptor::Invocation| {
        log.push(&*invocation.name);
        async { true }
    })
}

/// A sink that notes its call.
pub(crate) fn noting_sink(builder: InterceptorBuilder<Sink>, log: &Log) -> Interceptor {
    let log = log.clone();
    builder.handler(move |invocation: mcp_interceptors::interceptor::Invocation| {
        log.push(&*invocation.name);
        async {}
    })
}

/// A mutator that puts `"name": true` into the payload.
pub(crate) fn setting(builder: InterceptorBuilder<Mutator>, member: &'static str) -> Interceptor {
    builder.handler(move |mut payload: Payload| async move {
        payload.set(&format!("/{member}"), &true)?;
        Ok::<_, BoxError>(Some(payload))
    })
}

/// A mutator that puts its prefix before the text at `/x`.
pub(crate) fn prefixing(builder: InterceptorBuilder<Mutator>, prefix: &'static str) -> Interceptor {
    builder.handler(move |payload: Payload| async move {
        let text = payload.value()?["x"].as_str().unwrap_or_default().to_owned();
        Ok::<_, BoxError>(MutationResult::modified(json!({"x": format!("{prefix}{text}")})))
    })
}

pub(crate) fn crashing_mutator(builder: InterceptorBuilder<Mutator>) -> Interceptor {
    builder.handler(|| async { Err::<Option<Payload>, _>("boom") })
}

pub(crate) fn crashing_validator(builder: InterceptorBuilder<Validator>) -> Interceptor {
    builder.handler(|| async { Err::<bool, _>("boom") })
}

pub(crate) fn chain(interceptors: impl IntoIterator<Item = Interceptor>) -> Chain {
    Chain::builder().interceptors(interceptors).build().unwrap()
}

/// The request phase of `tools/call` with `payload`.
pub(crate) fn request(payload: Value) -> ChainParams {
    ChainParams::new(CALL, Phase::Request, payload)
}

pub(crate) fn response(payload: Value) -> ChainParams {
    ChainParams::new(CALL, Phase::Response, payload)
}

/// Runs the request phase of `tools/call` with `{"original":true}`.
pub(crate) async fn run(interceptors: impl IntoIterator<Item = Interceptor>) -> ChainResult {
    chain(interceptors)
        .execute(request(json!({"original": true})))
        .await
}

pub(crate) async fn run_on(side: Side, chain: &Chain, phase: Phase) -> ChainResult {
    let params = ChainParams::new(CALL, phase, json!({"x": ""}));
    chain.execute_on(side, params).await
}

pub(crate) fn final_payload(result: &ChainResult) -> Option<Value> {
    let payload = result.final_payload.as_ref()?;
    Some(serde_json::from_str(payload.get()).unwrap())
}

/// The names of the results, in their order.
pub(crate) fn names(result: &ChainResult) -> Vec<&str> {
    result.results.iter().map(|result| &*result.interceptor).collect()
}

/// `(errors, warnings, infos)`.
pub(crate) fn summary(result: &ChainResult) -> (u64, u64, u64) {
    let summary = result.validation_summary;
    (summary.errors, summary.warnings, summary.infos)
}

/// `(interceptor, reason, kind)` of the abort.
pub(crate) fn aborted_at(
    result: &ChainResult,
) -> Option<(&str, &str, mcp_interceptors::interceptor::AbortKind)> {
    let aborted = result.aborted_at.as_ref()?;
    Some((&aborted.interceptor, &aborted.reason, aborted.kind))
}
