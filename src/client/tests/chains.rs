//! One chain over many servers.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Fake, Say};
use crate::{
    chain::{Chain, ChainBuilder, Overrides},
    client::{Discovery, DiscoveryError, DuplicateNames, discover},
    interceptor::{
        ChainParams, ChainResult, ChainStatus, Interceptor, Mode, MutationResult, Phase, ValidationResult,
    },
    message::Payload,
};

pub(super) async fn run(discovery: &Discovery, text: &str) -> ChainResult {
    execute(&discovery.chain().current(), text).await
}

async fn execute(chain: &Chain, text: &str) -> ChainResult {
    let params = ChainParams::new("tools/call", Phase::Request, json!({"text": text}));
    chain.execute(params).await
}

fn text(result: &ChainResult) -> String {
    let payload: Value = serde_json::from_str(result.final_payload.as_ref().unwrap().get()).unwrap();
    payload["text"].as_str().unwrap().to_owned()
}

async fn both(one: &Fake, other: &Fake) -> Discovery {
    discover([one.named("one"), other.named("other")]).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn cs_056_cs_062_ts_043_priorities_are_global() {
    let late = Fake::legacy().mutator("H", 10);
    let early = Fake::modern().mutator("L", -10);
    let result = run(&both(&late, &early).await, "x").await;
    assert_eq!(text(&result), "H:L:x");
    let names: Vec<_> = result.results.iter().map(|result| &*result.interceptor).collect();
    assert_eq!(names, ["L", "H"]);
}

#[tokio::test(start_paused = true)]
async fn cs_057_equal_priorities_go_by_name_and_cs_058_the_payload_threads_across_hosts() {
    let (one, other) = (
        Fake::legacy().mutator("zulu", 0),
        Fake::legacy().mutator("alpha", 0),
    );
    let result = run(&both(&one, &other).await, "x").await;
    assert_eq!(text(&result), "zulu:alpha:x");
    assert_eq!(one.last("interceptor/invoke")["payload"]["text"], "alpha:x");
}

#[tokio::test(start_paused = true)]
async fn py_001_ts_052_hosts_are_interleaved() {
    let one = Fake::legacy().mutator("bravo", 0).mutator("early", -1000);
    let other = Fake::modern().mutator("alpha", 0).mutator("late", 1000);
    let result = run(&both(&one, &other).await, "x").await;
    assert_eq!(text(&result), "late:bravo:alpha:early:x");
}

#[tokio::test(start_paused = true)]
async fn cs_060_one_name_on_two_servers_runs_on_each() {
    let (one, other) = (Fake::legacy().mutator("m", 0), Fake::legacy().mutator("m", 0));
    let result = run(&both(&one, &other).await, "x").await;
    assert_eq!(text(&result), "m:m:x");
    assert_eq!(
        (one.count("interceptor/invoke"), other.count("interceptor/invoke")),
        (1, 1)
    );
    assert_eq!(result.results.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn ts_044_ts_045_duplicates_can_be_refused_or_the_first_wins() {
    let (one, other) = (Fake::legacy().mutator("m", 0), Fake::legacy().mutator("m", 0));
    let start = |policy| {
        let servers = [one.named("one"), other.named("other")];
        Discovery::builder().servers(servers).duplicates(policy).start()
    };
    let refused = start(DuplicateNames::Reject).await.unwrap_err();
    assert!(
        matches!(&refused, DiscoveryError::DuplicateName { name, servers } if name == "m" && *servers == ["one", "other"])
    );
    assert_eq!(
        refused.to_string(),
        r#"an interceptor named "m" is on "one" and on "other""#
    );
    let first = start(DuplicateNames::FirstWins).await.unwrap();
    assert_eq!(text(&run(&first, "x").await), "m:x");
    assert_eq!(
        (one.count("interceptor/invoke"), other.count("interceptor/invoke")),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn cs_061_entries_of_two_servers_are_merged_and_know_their_server() {
    let (one, other) = (Fake::legacy().mutator("a", 0), Fake::modern().validator("b"));
    let all = both(&one, &other).await.interceptors();
    let all: Vec<_> = all.iter().map(|(server, d)| (&**server, &*d.name)).collect();
    assert_eq!(all, [("one", "a"), ("other", "b")]);
}

#[tokio::test(start_paused = true)]
async fn cs_063_one_server_that_cannot_be_listed_fails_all() {
    let (one, other) = (Fake::legacy().mutator("a", 0), Fake::legacy());
    for say in [
        Say::Die,
        Say::Hang,
        super::error(-32601, "method not found", None),
        Say::Result(json!({"interceptors": "none"})),
        Say::Result(json!({"interceptors": [{"name": "guard", "type": "validation", "mode": "??"}]})),
        Say::Result(json!({"interceptors": [
            {"name": "a", "type": "sink", "hooks": []}, {"name": "a", "type": "sink", "hooks": []},
        ]})),
    ] {
        other.instead("interceptors/list", Some(say));
        let failed = discover([one.named("one"), other.named("other")])
            .await
            .unwrap_err();
        assert!(failed.to_string().contains("other"), "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn cs_064_ts_070_ts_071_a_single_server_runs_and_aborts() {
    let fake = Fake::legacy().mutator("m", 0).validator("v");
    fake.change("m", "type", json!("validation"));
    fake.withdraw("m");
    let discovery = discover([fake.named("s")]).await.unwrap();
    assert_eq!(run(&discovery, "x").await.status, ChainStatus::Success);
    let blocked = run(&discovery, "bad").await;
    assert_eq!(blocked.status, ChainStatus::ValidationFailed);
    assert_eq!(blocked.aborted_at.unwrap().interceptor, "v");
    assert!(blocked.final_payload.is_none());
}

#[tokio::test(start_paused = true)]
async fn ts_046_no_hosts_leave_the_payload_as_it_is() {
    let result = run(&discover([]).await.unwrap(), "x").await;
    assert_eq!(
        (result.status, text(&result).as_str()),
        (ChainStatus::Success, "x")
    );
}

#[tokio::test(start_paused = true)]
async fn ts_047_the_chains_time_holds_with_a_host_that_hangs() {
    let fake = Fake::legacy().mutator("m", 0);
    let base = Chain::builder().phase_timeout(Duration::from_millis(150));
    let discovery = Discovery::builder()
        .server(fake.named("s"))
        .chain(base)
        .start()
        .await
        .unwrap();
    fake.instead("interceptor/invoke", Some(Say::Hang));
    let began = Instant::now();
    assert_eq!(run(&discovery, "x").await.status, ChainStatus::Timeout);
    assert_eq!(began.elapsed(), Duration::from_millis(150));
    assert_eq!(fake.last("interceptor/invoke")["timeoutMs"], 150);
}

#[tokio::test(start_paused = true)]
async fn ts_048_overrides_and_config_go_by_server_and_name() {
    let (one, other) = (Fake::legacy().validator("v"), Fake::legacy().validator("v"));
    let base = Chain::builder()
        .override_on(
            "one",
            "v",
            Overrides::new().mode(Mode::Audit).config(&json!({"n": 1})),
        )
        .override_on("other", "v", Overrides::new().config(&json!({"n": 2})));
    let servers = [one.named("one"), other.named("other")];
    let discovery = Discovery::builder()
        .servers(servers)
        .chain(base)
        .start()
        .await
        .unwrap();
    let blocked = run(&discovery, "bad").await;
    assert_eq!(blocked.status, ChainStatus::ValidationFailed);
    assert_eq!(one.last("interceptor/invoke")["config"], json!({"n": 1}));
    assert_eq!(other.last("interceptor/invoke")["config"], json!({"n": 2}));
}

#[tokio::test(start_paused = true)]
async fn ts_049_ts_050_only_wanted_events_are_intercepted() {
    let fake = Fake::legacy().validator("v");
    fake.change("v", "hooks", json!([{"events": ["*"], "phase": "request"}]));
    for (pattern, hooked) in [
        ("prompts/*", [false, true]),
        ("tools/call", [true, false]),
        ("*", [true, true]),
    ] {
        let builder = Discovery::builder()
            .server(fake.named("s"))
            .events([pattern.parse().unwrap()]);
        let chain = builder.start().await.unwrap().chain().current();
        let found = ["tools/call", "prompts/get"].map(|event| chain.hooks(event, Phase::Request));
        assert_eq!(found, hooked, "{pattern}");
    }
}

#[tokio::test(start_paused = true)]
async fn outside_of_compat_what_must_not_fail_blocks() {
    let fake = Fake::legacy().validator("v");
    fake.change("v", "compat", json!({"minProtocol": "2026-07-28"}));
    assert_eq!(
        run(&discover([fake.named("s")]).await.unwrap(), "x").await.status,
        ChainStatus::ValidationFailed
    );
    fake.change("v", "failOpen", json!(true));
    assert_eq!(
        run(&discover([fake.named("s")]).await.unwrap(), "x").await.status,
        ChainStatus::Success
    );
    assert_eq!(fake.count("interceptor/invoke"), 0);
}

/// The interceptors of [`Fake::mutator`] and [`Fake::validator`], in process.
fn in_process(builder: ChainBuilder) -> ChainBuilder {
    let mutator = |name: &'static str, priority: i32| {
        Interceptor::mutator(name)
            .on("tools/call")
            .request()
            .priority(priority)
            .handler(move |payload: Payload| async move {
                let mut payload = payload.value()?.clone();
                payload["text"] = format!("{name}:{}", payload["text"].as_str().unwrap_or_default()).into();
                Ok::<_, crate::BoxError>(MutationResult::modified(payload))
            })
    };
    let validator =
        Interceptor::validator("v")
            .on("tools/call")
            .request()
            .handler(|payload: Payload| async move {
                Ok::<_, crate::BoxError>(ValidationResult::from(payload.value()?["text"] != "b:a:bad"))
            });
    builder
        .interceptor(mutator("b", 0))
        .interceptor(mutator("a", 0))
        .interceptor(validator)
}

#[tokio::test(start_paused = true)]
async fn the_same_interceptors_give_the_same_results_wherever_they_live() {
    let fake = || {
        Fake::modern()
            .mutator("b", 0)
            .mutator("a", 0)
            .with("v", json!({"type": "validation"}), |params| {
                Say::Result(json!({"type": "validation", "valid": params["payload"]["text"] != "b:a:bad"}))
            })
    };
    let local = in_process(Chain::builder()).build().unwrap();
    let in_memory = discover([fake().named("s")]).await.unwrap();
    #[cfg(feature = "stdio")]
    let over_pipes = {
        let link = crate::duplex::link(fake().service());
        discover([crate::client::InterceptorServer::new("s", link)])
            .await
            .unwrap()
    };
    for text in ["x", "bad", "1.10"] {
        let plain = |mut result: ChainResult| {
            result.total_duration = Duration::ZERO;
            for result in &mut result.results {
                result.duration = None;
            }
            serde_json::to_value(&result).unwrap()
        };
        let expected = plain(execute(&local, text).await);
        assert_eq!(plain(run(&in_memory, text).await), expected);
        #[cfg(feature = "stdio")]
        assert_eq!(plain(run(&over_pipes, text).await), expected);
    }
}
