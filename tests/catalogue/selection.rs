//! Which interceptors a message concerns, and what they are told.

use std::time::Duration;

use mcp_interceptors::{
    chain::Chain,
    interceptor::{
        ChainParams, ChainStatus, Config, Interceptor, Invocation, InvocationContext, MutationResult, Phase,
        Principal, PrincipalType,
    },
    message::Payload,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{
    CALL, Log, chain, mutator, names, noting_mutator, noting_sink, noting_validator, request, sink, validator,
};

fn params(event: &str, phase: Phase) -> ChainParams {
    ChainParams::new(event, phase, json!({}))
}

fn watching(name: &str, events: &[&str]) -> Interceptor {
    let builder = Interceptor::validator(name);
    let builder = events[1..]
        .iter()
        .fold(builder.on(events[0]), |hook, event| hook.and(event));
    builder.request().handler(|| async { true })
}

#[tokio::test]
async fn cs_052_ts_009_only_what_hooks_the_event_runs() {
    let chain = chain([watching("calls", &[CALL]), watching("prompts", &["prompts/get"])]);
    let result = chain.execute(params(CALL, Phase::Request)).await;
    assert_eq!(names(&result), ["calls"]);
}

#[tokio::test]
async fn cs_053_ts_010_py_060_only_what_hooks_the_phase_runs() {
    let chain = chain([
        Interceptor::validator("request-only")
            .on(CALL)
            .request()
            .handler(|| async { true }),
        Interceptor::validator("response-only")
            .on(CALL)
            .response()
            .handler(|| async { true }),
    ]);
    let request = chain.execute(params(CALL, Phase::Request)).await;
    assert_eq!(names(&request), ["request-only"]);
    let response = chain.execute(params(CALL, Phase::Response)).await;
    assert_eq!(names(&response), ["response-only"]);
}

#[tokio::test]
async fn py_058_py_059_py_061_ts_078_ts_081_patterns_select() {
    let chain = chain([
        watching("exact", &[CALL]),
        watching("namespace", &["tools/*"]),
        watching("all", &["*"]),
        watching("several", &["prompts/get", "ping", "notifications/progress"]),
    ]);
    for (event, expected) in [
        (CALL, &["exact", "namespace", "all"][..]),
        ("tools/list", &["namespace", "all"]),
        ("toolsmith/call", &["all"]),
        ("prompts/get", &["all", "several"]),
        ("sampling/createMessage", &["all"]),
        ("llm/completion", &["all"]),
        // These are events only for who names them.
        ("ping", &["several"]),
        ("notifications/progress", &["several"]),
        ("notifications/message", &[]),
        ("initialize", &[]),
        ("server/discover", &[]),
    ] {
        let result = chain.execute(params(event, Phase::Request)).await;
        assert_eq!(names(&result), expected, "{event}");
        assert_eq!(
            chain.hooks(event, Phase::Request),
            !expected.is_empty(),
            "{event}"
        );
        assert!(!chain.hooks(event, Phase::Response), "{event}");
    }
}

#[tokio::test]
async fn py_020_ts_082_a_list_of_names_selects() {
    let log = Log::default();
    let chain = chain([
        noting_mutator(mutator("m1"), &log),
        noting_mutator(mutator("m2"), &log),
        noting_validator(validator("v1"), &log),
        noting_sink(sink("s1"), &log),
        noting_sink(sink("s2"), &log),
    ]);
    let params = request(json!({})).only(["m2", "s1"]);
    let result = chain.execute(params).await;
    assert_eq!(names(&result), ["m2", "s1"]);
    assert_eq!(log.take(), ["m2", "s1"]);
}

/// Puts its configuration into the payload.
fn configured(name: &str, config: Option<Value>) -> Interceptor {
    let builder = mutator(name);
    let builder = match &config {
        Some(config) => builder.config(config),
        None => builder,
    };
    let member = format!("/{name}");
    builder.handler(move |mut payload: Payload, config: Config<Value>| {
        let member = member.clone();
        async move {
            payload.set(&member, &config.0)?;
            Ok::<_, mcp_interceptors::BoxError>(Some(payload))
        }
    })
}

#[tokio::test]
async fn py_020_py_026_ts_024_each_interceptor_gets_its_own_configuration() {
    let chain = chain([
        configured("declared", Some(json!({"by": "builder"}))),
        configured("replaced", Some(json!({"by": "builder"}))),
        configured("checked", None),
        configured("none", None),
    ]);
    let params = request(json!({}))
        .with_config("checked", json!({"strict": true}))
        .with_config("replaced", json!({"by": "caller"}));
    let result = chain.execute(params).await;
    let payload: Value = serde_json::from_str(result.final_payload.unwrap().get()).unwrap();
    assert_eq!(
        payload,
        json!({
            "declared": {"by": "builder"}, "replaced": {"by": "caller"}, "checked": {"strict": true}, "none": null
        })
    );
}

#[tokio::test(start_paused = true)]
async fn go_026_ts_129_an_invocation_carries_event_phase_deadline_and_context() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let watch = validator("watch").handler(move |invocation: Invocation| {
        sender.send(invocation).unwrap();
        async { true }
    });
    let chain = chain([watch]);
    let context = InvocationContext::now()
        .with_principal(Principal::user("test-user"))
        .with_trace("trace", "span")
        .with_session_id("session");
    let params = ChainParams::new(CALL, Phase::Response, json!({"a": 1}))
        .with_timeout(Duration::from_secs(3))
        .with_context(context.clone());
    assert_eq!(chain.execute(params).await.status, ChainStatus::Success);
    let invocation = receiver.recv().await.unwrap();
    assert_eq!((&*invocation.name, &*invocation.event), ("watch", CALL));
    assert_eq!(invocation.phase, Phase::Response);
    assert_eq!(invocation.payload.as_json(), r#"{"a":1}"#);
    assert_eq!(invocation.deadline, Some(Instant::now() + Duration::from_secs(3)));
    assert_eq!(*invocation.context, context);
}

#[tokio::test]
async fn every_invocation_starts_from_the_default_context() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let watch = validator("watch").handler(move |invocation: Invocation| {
        sender.send(invocation.context).unwrap();
        async { true }
    });
    let chain = Chain::builder()
        .interceptor(watch)
        .default_context(
            InvocationContext::default()
                .with_principal(Principal::service("gateway"))
                .with_session_id("s"),
        )
        .build()
        .unwrap();
    chain.execute(params(CALL, Phase::Request)).await;
    let context = receiver.recv().await.unwrap();
    let principal = context.principal.as_ref().unwrap();
    assert_eq!(
        (principal.kind, principal.id.as_deref()),
        (PrincipalType::Service, Some("gateway"))
    );
    assert_eq!(context.session_id.as_deref(), Some("s"));
    assert!(context.timestamp.as_ref().is_some_and(|time| time.ends_with('Z')));
}

#[tokio::test]
async fn ts_140_a_mutator_may_keep_the_payload() {
    let keeps = mutator("keeps").handler(|| async { MutationResult::unmodified() });
    let raw = serde_json::value::RawValue::from_string(r#"{ "n":1.10 }"#.into()).unwrap();
    let result = chain([keeps])
        .execute(ChainParams::new_raw(CALL, Phase::Request, raw))
        .await;
    assert_eq!(result.final_payload.unwrap().get(), r#"{ "n":1.10 }"#);
}
