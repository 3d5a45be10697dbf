//! Which runs when.

use mcp_interceptors::{
    chain::{Chain, Side},
    interceptor::{ChainParams, ChainStatus, Phase, PriorityHint},
};
use serde_json::json;

use crate::support::{
    CALL, Log, chain, final_payload, mutator, names, noting_mutator, noting_sink, noting_validator,
    prefixing, request, run, run_on, setting, sink, validator,
};

fn all_three(log: &Log) -> Chain {
    chain([
        noting_sink(sink("sink"), log),
        noting_validator(validator("validator"), log),
        noting_mutator(mutator("mutator"), log),
    ])
}

#[tokio::test]
async fn cs_037_ts_001_ts_084_a_sent_request_is_mutated_then_validated_then_sunk() {
    let log = Log::default();
    let result = run_on(Side::Client, &all_three(&log), Phase::Request).await;
    assert_eq!(log.take(), ["mutator", "validator", "sink"]);
    assert_eq!(names(&result), ["mutator", "validator", "sink"]);
    assert_eq!(result.status, ChainStatus::Success);
}

#[tokio::test]
async fn cs_037_the_final_payload_is_the_mutated_one() {
    let result = run([setting(mutator("m"), "seen")]).await;
    assert_eq!(
        final_payload(&result),
        Some(json!({"original": true, "seen": true}))
    );
}

#[tokio::test]
async fn cs_038_ts_002_a_received_response_is_validated_then_sunk_then_mutated() {
    let log = Log::default();
    run_on(Side::Client, &all_three(&log), Phase::Response).await;
    // The sink's event is queued at its place in the order and delivered off the path.
    assert_eq!(log.take(), ["validator", "mutator", "sink"]);
}

#[tokio::test]
async fn cs_038_a_response_sink_sees_what_the_mutator_has_not_changed_yet() {
    let seen = Log::default();
    let watch = {
        let seen = seen.clone();
        sink("sink").handler(move |payload: mcp_interceptors::message::Payload| {
            seen.push(payload.as_json());
            async {}
        })
    };
    let chain = chain([setting(mutator("m"), "changed"), watch]);
    let result = run_on(Side::Client, &chain, Phase::Response).await;
    assert_eq!(seen.take(), [r#"{"x":""}"#]);
    assert_eq!(final_payload(&result), Some(json!({"x": "", "changed": true})));
}

#[tokio::test]
async fn py_003_on_the_side_of_a_server_a_request_is_validated_first_and_a_response_mutated_first() {
    let log = Log::default();
    run_on(Side::Server, &all_three(&log), Phase::Request).await;
    assert_eq!(log.take(), ["validator", "mutator", "sink"]);
    run_on(Side::Server, &all_three(&log), Phase::Response).await;
    assert_eq!(log.take(), ["mutator", "validator", "sink"]);
}

#[tokio::test]
async fn py_004_the_side_of_a_client_mutates_a_request_first() {
    let log = Log::default();
    run_on(Side::Client, &all_three(&log), Phase::Request).await;
    assert_eq!(log.take()[..2], ["mutator", "validator"]);
}

#[tokio::test]
async fn cs_039_ts_003_a_lower_priority_runs_first() {
    let log = Log::default();
    run([
        noting_mutator(mutator("high").priority(100), &log),
        noting_mutator(mutator("low").priority(-100), &log),
        noting_mutator(mutator("default"), &log),
    ])
    .await;
    assert_eq!(log.take(), ["low", "default", "high"]);
}

#[tokio::test]
async fn cs_040_ts_004_ts_065_a_priority_can_differ_by_phase() {
    let log = Log::default();
    let both = |request, response| PriorityHint::per_phase(Some(request), Some(response));
    let chain = chain([
        noting_mutator(mutator("compressor").priority(both(5_000, -5_000)), &log),
        noting_mutator(mutator("pii").priority(both(-50_000, 50_000)), &log),
    ]);
    run_on(Side::Client, &chain, Phase::Request).await;
    assert_eq!(log.take(), ["pii", "compressor"]);
    run_on(Side::Client, &chain, Phase::Response).await;
    assert_eq!(log.take(), ["compressor", "pii"]);
}

#[tokio::test]
async fn cs_042_ts_087_equal_priorities_go_by_name() {
    let log = Log::default();
    run(["charlie", "alpha", "bravo", "Zulu"].map(|name| noting_mutator(mutator(name).priority(10), &log)))
        .await;
    // By bytes: upper case stands before lower case.
    assert_eq!(log.take(), ["Zulu", "alpha", "bravo", "charlie"]);
}

#[tokio::test]
async fn cs_043_ts_011_each_mutator_sees_what_the_one_before_made() {
    let seen = Log::default();
    let second = {
        let seen = seen.clone();
        mutator("two").handler(move |mut payload: mcp_interceptors::message::Payload| {
            seen.push(payload.as_json());
            async move {
                payload.set("/step2", &true)?;
                Ok::<_, mcp_interceptors::BoxError>(Some(payload))
            }
        })
    };
    let result = run([second.clone(), setting(mutator("one"), "step1")]).await;
    assert_eq!(seen.take(), [r#"{"original":true,"step1":true}"#]);
    assert_eq!(
        final_payload(&result),
        Some(json!({"original": true, "step1": true, "step2": true}))
    );
}

#[tokio::test]
async fn ts_088_changes_fold() {
    let chain = chain([
        prefixing(mutator("b"), "b-"),
        prefixing(mutator("a").priority(-1), "a-"),
    ]);
    let result = chain.execute(request(json!({"x": "x"}))).await;
    assert_eq!(final_payload(&result), Some(json!({"x": "b-a-x"})));
}

#[tokio::test]
async fn ts_089_validators_see_the_mutated_payload() {
    let seen = Log::default();
    let watch = {
        let seen = seen.clone();
        validator("v").handler(move |payload: mcp_interceptors::message::Payload| {
            seen.push(payload.as_json());
            async { true }
        })
    };
    run([watch, setting(mutator("m"), "changed")]).await;
    assert_eq!(seen.take(), [r#"{"original":true,"changed":true}"#]);
}

#[tokio::test]
async fn cs_056_cs_058_cs_062_py_001_ts_043_priority_is_global_over_hosts_and_the_payload_threads() {
    let chain = chain([
        prefixing(mutator("bravo"), "B:").hosted_by("one"),
        prefixing(mutator("early").priority(-1_000), "E:").hosted_by("one"),
        prefixing(mutator("alpha"), "A:").hosted_by("two"),
        prefixing(mutator("late").priority(1_000), "L:").hosted_by("two"),
    ]);
    let result = chain.execute(request(json!({"x": "x"}))).await;
    assert_eq!(names(&result), ["early", "alpha", "bravo", "late"]);
    assert_eq!(final_payload(&result), Some(json!({"x": "L:B:A:E:x"})));
}

#[tokio::test]
async fn cs_014_cs_057_ts_031_a_tie_goes_by_name_whatever_the_server() {
    let chain = chain([
        prefixing(mutator("zulu"), "Z:").hosted_by("one"),
        prefixing(mutator("alpha"), "A:").hosted_by("two"),
    ]);
    let result = chain.execute(request(json!({"x": "hello"}))).await;
    assert_eq!(names(&result), ["alpha", "zulu"]);
    assert_eq!(final_payload(&result), Some(json!({"x": "Z:A:hello"})));
}

#[tokio::test]
async fn cs_060_the_same_name_on_two_servers_runs_on_each() {
    let chain = chain([
        prefixing(mutator("same"), "1:").hosted_by("one"),
        prefixing(mutator("same"), "2:").hosted_by("two"),
    ]);
    let result = chain.execute(request(json!({"x": "x"}))).await;
    assert_eq!(names(&result), ["same", "same"]);
    // Equal in priority and name: in the servers' order.
    assert_eq!(final_payload(&result), Some(json!({"x": "2:1:x"})));
}

#[tokio::test]
async fn py_037_two_of_one_host_cannot_share_a_name() {
    let log = Log::default();
    let twice = ["same", "same"].map(|name| noting_mutator(mutator(name), &log));
    let error = Chain::builder().interceptors(twice).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"two interceptors of one host are named "same": rename one of them"#
    );
}

#[tokio::test]
async fn cs_018_a_chain_of_two_mutators() {
    let result = run([setting(mutator("a"), "a"), setting(mutator("b"), "b")]).await;
    assert_eq!((result.status, result.results.len()), (ChainStatus::Success, 2));
    assert_eq!(
        final_payload(&result),
        Some(json!({"original": true, "a": true, "b": true}))
    );
}

#[tokio::test]
async fn ts_046_ts_083_an_empty_chain_passes_everything() {
    let params = ChainParams::new(CALL, Phase::Request, json!({"original": true}));
    let result = chain([]).execute(params).await;
    assert_eq!(result.status, ChainStatus::Success);
    assert_eq!((result.event.as_str(), result.phase), (CALL, Phase::Request));
    assert!(result.results.is_empty());
    assert_eq!(final_payload(&result), Some(json!({"original": true})));
}
