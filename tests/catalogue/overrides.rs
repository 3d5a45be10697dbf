//! What a deployment changes about an interceptor.

use std::{future::pending, time::Duration};

use mcp_interceptors::{
    chain::{Chain, Overrides},
    interceptor::{
        AbortKind, ChainParams, ChainStatus, Config, Hook, Interceptor, Mode, MutationResult, Phase,
        PriorityHint, ValidationResult,
    },
};
use serde_json::{Value, json};

use crate::support::{
    CALL, Log, aborted_at, crashing_mutator, final_payload, mutator, names, noting_mutator, prefixing,
    request, validator,
};

fn with(interceptor: Interceptor, overrides: Overrides) -> Chain {
    Chain::builder()
        .interceptor_with(interceptor, overrides)
        .build()
        .unwrap()
}

fn refusing(name: &str, mode: Mode) -> Interceptor {
    validator(name)
        .mode(mode)
        .handler(|| async { ValidationResult::fail("no") })
}

#[tokio::test]
async fn py_016_ts_020_a_priority_override_changes_the_order() {
    let log = Log::default();
    let chain = Chain::builder()
        .interceptor(noting_mutator(mutator("a").priority(-100), &log))
        .interceptor_with(
            noting_mutator(mutator("b"), &log),
            Overrides::new().priority(-200),
        )
        .build()
        .unwrap();
    chain.execute(request(json!({}))).await;
    assert_eq!(log.take(), ["b", "a"]);
}

#[tokio::test]
async fn py_050_to_py_057_priorities_resolve_by_phase_and_an_override_wins() {
    let per_phase = PriorityHint::per_phase;
    let number = PriorityHint::number;
    // Declared, override, and what comes out for request and response.
    let cases = [
        (None, None, (0, 0)),
        (Some(number(7)), None, (7, 7)),
        (Some(per_phase(Some(1), Some(2))), None, (1, 2)),
        (Some(per_phase(None, Some(2))), None, (0, 2)),
        (Some(per_phase(Some(1), None)), None, (1, 0)),
        (Some(number(7)), Some(number(-3)), (-3, -3)),
        (Some(number(7)), Some(per_phase(Some(5), None)), (5, 0)),
        (None, Some(per_phase(None, Some(9))), (0, 9)),
    ];
    for (declared, overriding, (on_request, on_response)) in cases {
        for (phase, priority) in [(Phase::Request, on_request), (Phase::Response, on_response)] {
            let log = Log::default();
            let builder = mutator("subject");
            let builder = match declared {
                Some(hint) => builder.priority(hint),
                None => builder,
            };
            let overrides = match overriding {
                Some(hint) => Overrides::new().priority(hint),
                None => Overrides::new(),
            };
            // One before, one after: the subject stands between exactly where its priority says.
            let chain = Chain::builder()
                .interceptor(noting_mutator(mutator("z-before").priority(priority - 1), &log))
                .interceptor_with(noting_mutator(builder, &log), overrides)
                .interceptor(noting_mutator(mutator("a-after").priority(priority + 1), &log))
                .build()
                .unwrap();
            chain.execute(ChainParams::new(CALL, phase, json!({}))).await;
            let order = ["z-before", "subject", "a-after"];
            assert_eq!(log.take(), order, "{declared:?} {overriding:?} {phase:?}");
        }
    }
}

#[tokio::test]
async fn py_017_an_audit_can_be_made_to_block() {
    let chain = with(refusing("v", Mode::Audit), Overrides::new().mode(Mode::Active));
    let result = chain.execute(request(json!({}))).await;
    assert_eq!(aborted_at(&result), Some(("v", "no", AbortKind::Validation)));
}

#[tokio::test]
async fn ts_018_an_active_one_can_be_made_an_audit() {
    let chain = with(refusing("v", Mode::Active), Overrides::new().mode(Mode::Audit));
    let result = chain.execute(request(json!({}))).await;
    assert_eq!(result.status, ChainStatus::Success);
}

#[tokio::test]
async fn ts_019_fail_open_can_be_overridden_both_ways() {
    let closed = with(crashing_mutator(mutator("m")), Overrides::new().fail_open(true));
    let result = closed.execute(request(json!({}))).await;
    assert_eq!(result.status, ChainStatus::Success);
    let open = with(
        crashing_mutator(mutator("m").fail_open()),
        Overrides::new().fail_open(false),
    );
    let result = open.execute(request(json!({}))).await;
    assert_eq!(result.status, ChainStatus::MutationFailed);
}

#[tokio::test]
async fn py_018_ts_021_narrowed_hooks_are_not_invoked_for_the_rest() {
    let log = Log::default();
    let refuse = {
        let log = log.clone();
        Interceptor::validator("v")
            .on(CALL)
            .and("prompts/get")
            .request()
            .handler(move || {
                log.push("v");
                async { false }
            })
    };
    let narrowed = Hook::parse(Phase::Request, ["prompts/get"]).unwrap();
    let chain = with(refuse, Overrides::new().hooks([narrowed]));
    let result = chain.execute(request(json!({}))).await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!(log.take(), Vec::<String>::new());
    let params = ChainParams::new("prompts/get", Phase::Request, json!({}));
    assert_eq!(chain.execute(params).await.status, ChainStatus::ValidationFailed);
    assert_eq!(log.take(), ["v"]);
}

#[tokio::test]
async fn py_019_py_063_to_py_067_ts_022_a_hook_can_be_narrowed_and_never_widened() {
    let build = |declared: &[&str], wanted: &str, phase: Phase| {
        let builder = Interceptor::validator("v");
        let hooks = declared[1..]
            .iter()
            .fold(builder.on(declared[0]), |hook, event| hook.and(event));
        let interceptor = hooks.request().handler(|| async { true });
        let wanted = Hook::parse(phase, [wanted]).unwrap();
        Chain::builder()
            .interceptor_with(interceptor, Overrides::new().hooks([wanted]))
            .build()
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let widens = |event: &str, phase: &str| {
        Err(format!(
            "the override of \"v\" widens its hooks: the override widens the declared hooks: {event:?} in the \
             {phase} phase is not declared; an override can only narrow"
        ))
    };
    let two = [CALL, "prompts/get"];
    assert_eq!(build(&two, CALL, Phase::Request), Ok(()));
    assert_eq!(
        build(&two, "tools/list", Phase::Request),
        widens("tools/list", "request")
    );
    assert_eq!(build(&two, CALL, Phase::Response), widens(CALL, "response"));
    assert_eq!(build(&two, "*", Phase::Request), widens("*", "request"));
    assert_eq!(
        build(&two, "tools/*", Phase::Request),
        widens("tools/*", "request")
    );
    assert_eq!(build(&["*"], CALL, Phase::Request), Ok(()));
    assert_eq!(build(&["*"], "*", Phase::Request), Ok(()));
    assert_eq!(build(&["*"], "tools/*", Phase::Request), Ok(()));
    assert_eq!(build(&["*"], "ping", Phase::Request), widens("ping", "request"));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_can_be_overridden() {
    let slow = validator("v")
        .timeout(Duration::from_secs(5))
        .handler(|| pending::<bool>());
    let chain = with(slow, Overrides::new().timeout(Duration::from_millis(20)));
    let result = chain.execute(request(json!({}))).await;
    assert_eq!(
        aborted_at(&result),
        Some(("v", "timed out after 20ms", AbortKind::Validation))
    );
}

#[tokio::test]
async fn a_configuration_can_be_overridden() {
    let echo = mutator("m")
        .config(&json!({"from": "builder"}))
        .handler(
            |config: Config<Value>| async move { MutationResult::modified(json!({"config": config.0})) },
        );
    let chain = with(echo, Overrides::new().config(&json!({"from": "override"})));
    let result = chain.execute(request(json!({}))).await;
    assert_eq!(
        final_payload(&result),
        Some(json!({"config": {"from": "override"}}))
    );
}

#[tokio::test]
async fn ts_048_overrides_find_their_interceptor_by_name_and_by_server() {
    let build = |chain: mcp_interceptors::chain::ChainBuilder| {
        chain
            .interceptor(prefixing(mutator("same"), "1:").hosted_by("one"))
            .interceptor(prefixing(mutator("same"), "2:").hosted_by("two"))
            .interceptor(prefixing(mutator("other"), "o:"))
    };
    let first = build(Chain::builder())
        .override_on("two", "same", Overrides::new().priority(-1))
        .build()
        .unwrap();
    let result = first.execute(request(json!({"x": "x"}))).await;
    assert_eq!(final_payload(&result), Some(json!({"x": "1:o:2:x"})));
    let both = build(Chain::builder())
        .override_named("same", Overrides::new().priority(-1))
        .build()
        .unwrap();
    let result = both.execute(request(json!({"x": "x"}))).await;
    assert_eq!(names(&result), ["same", "same", "other"]);
    let nobody = build(Chain::builder())
        .override_on("three", "same", Overrides::new())
        .build()
        .unwrap_err();
    assert_eq!(
        nobody.to_string(),
        r#"an override names "same", which is not in the chain"#
    );
}

#[tokio::test]
async fn what_is_said_at_the_interceptor_goes_before_what_is_said_by_name() {
    let chain = Chain::builder()
        .interceptor_with(refusing("v", Mode::Active), Overrides::new().mode(Mode::Audit))
        .override_named("v", Overrides::new().mode(Mode::Active))
        .build()
        .unwrap();
    assert_eq!(
        chain.execute(request(json!({}))).await.status,
        ChainStatus::Success
    );
}
