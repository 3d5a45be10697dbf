//! Lists are cached, refreshed behind the calls, and not believed for ever.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Fake, Say, chains::run, settle};
use crate::{
    chain::{Chain, Overrides},
    client::{Discovery, DiscoveryError, Required, discover},
    interceptor::{ChainStatus, Hook, InterceptorType, Mode, Phase},
};

const LIST: &str = "interceptors/list";

fn guard() -> Required {
    Required::new("s", "v", InterceptorType::Validation)
        .hook(Hook::parse(Phase::Request, ["tools/call"]).unwrap())
}

async fn passes(discovery: &Discovery) -> bool {
    run(discovery, "x").await.status == ChainStatus::Success
}

#[tokio::test(start_paused = true)]
async fn a_call_costs_its_invocations_and_no_list() {
    let one = Fake::legacy().validator("a").validator("b");
    let other = Fake::modern().mutator("c", 0);
    let discovery = discover([one.named("one"), other.named("other")]).await.unwrap();
    for _ in 0..10 {
        assert!(passes(&discovery).await);
    }
    assert_eq!((one.count(LIST), other.count(LIST)), (1, 1));
    assert_eq!(
        (one.count("interceptor/invoke"), other.count("interceptor/invoke")),
        (20, 10)
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_is_refreshed_behind_the_calls() {
    let fake = Fake::legacy().validator("v");
    let discovery = discover([fake.named("s")]).await.unwrap();
    fake.withdraw("v");
    let fake = fake.mutator("m", 0);
    sleep(Duration::from_secs(5 * 60 + 1)).await;
    assert_eq!(fake.count(LIST), 2);
    let result = run(&discovery, "x").await;
    assert_eq!(result.results.len(), 1);
    assert_eq!(result.results[0].interceptor, "m");
    assert_eq!(discovery.interceptors().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_interceptor_refreshes_once_an_interval() {
    let fake = Fake::legacy().validator("v");
    let discovery = discover([fake.named("s")]).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    fake.withdraw("v");
    assert!(!passes(&discovery).await, "it must not fail");
    settle().await;
    assert_eq!(fake.count(LIST), 2);
    assert!(passes(&discovery).await, "nobody requires it");

    // Bare -32602 for ever: one list an interval.
    let fake = fake.with("w", json!({"type": "validation", "failOpen": true}), |_| {
        super::error(-32602, "?", None)
    });
    discovery.refresh().await.unwrap();
    let before = fake.count(LIST);
    for _ in 0..60 {
        assert!(passes(&discovery).await);
        sleep(Duration::from_secs(1)).await;
    }
    let lists = fake.count(LIST) - before;
    assert!((1..=3).contains(&lists), "{lists}");
}

#[tokio::test(start_paused = true)]
async fn one_refresh_runs_at_a_time() {
    let fake = Fake::legacy().validator("v");
    let discovery = discover([fake.named("s")]).await.unwrap();
    let all = futures::future::join_all((0..10).map(|_| discovery.refresh())).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(fake.count(LIST), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stale_list_is_used_until_it_is_too_old() {
    let fake = Fake::legacy().validator("v");
    fake.change("v", "failOpen", json!(true));
    let other = Fake::legacy().validator("w");
    other.change(
        "w",
        "hooks",
        json!([{"events": ["prompts/get"], "phase": "request"}]),
    );
    let servers = [fake.named("s"), other.named("other")];
    let discovery = Discovery::builder()
        .servers(servers)
        .max_age(Duration::from_secs(20 * 60))
        .start()
        .await
        .unwrap();
    for fault in [
        Say::Hang,
        Say::Result(json!({"interceptors": [{"name": "v", "type": "validation", "mode": "??"}]})),
    ] {
        fake.instead(LIST, Some(fault));
        sleep(Duration::from_secs(19 * 60)).await;
        assert!(passes(&discovery).await);
        sleep(Duration::from_secs(6 * 60)).await;
        assert!(!passes(&discovery).await);
        assert!(discovery.chain().current().hooks("prompts/get", Phase::Request));
        let prompt = crate::interceptor::ChainParams::new("prompts/get", Phase::Request, json!({}));
        let untouched = discovery.chain().current().execute(prompt).await;
        assert_eq!(untouched.status, ChainStatus::Success);
        // It comes back by itself.
        fake.instead(LIST, None);
        sleep(Duration::from_secs(2 * 60)).await;
        assert!(passes(&discovery).await);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_required_must_be_there_at_the_start() {
    let fake = Fake::legacy();
    let start = |required| {
        Discovery::builder()
            .server(fake.named("s"))
            .require(required)
            .start()
    };
    assert!(matches!(
        start(guard()).await,
        Err(DiscoveryError::Required { .. })
    ));
    let nobody = Required::new("nobody", "v", InterceptorType::Validation).hook(Hook::all(Phase::Request));
    assert!(matches!(start(nobody).await, Err(DiscoveryError::Setting(_))));
    let nothing = Required::new("s", "v", InterceptorType::Validation);
    assert!(matches!(start(nothing).await, Err(DiscoveryError::Setting(_))));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_weakens_or_withdraws_does_not_take_effect() {
    let weaker = [
        Some(("mode", json!("audit"))),
        Some(("failOpen", json!(true))),
        Some(("type", json!("mutation"))),
        Some(("type", json!("from-the-future"))),
        Some(("hooks", json!([{"events": ["prompts/get"], "phase": "request"}]))),
        Some(("hooks", json!([{"events": ["tools/call"], "phase": "response"}]))),
        Some(("hooks", json!([]))),
        None,
    ];
    for weaker in weaker {
        let fake = Fake::legacy().validator("v").mutator("other", 0);
        // Nor can what the operator says of the interceptor itself let it through.
        let base = Chain::builder().override_named("v", Overrides::new().fail_open(false));
        let builder = Discovery::builder()
            .server(fake.named("s"))
            .require(guard())
            .chain(base);
        let discovery = builder.start().await.unwrap();
        assert!(passes(&discovery).await);
        match &weaker {
            Some((member, value)) => fake.change("v", member, value.clone()),
            None => fake.withdraw("v"),
        }
        discovery.refresh().await.unwrap();
        let blocked = run(&discovery, "x").await;
        assert!(blocked.final_payload.is_none(), "{weaker:?}");
        assert_eq!(blocked.aborted_at.unwrap().interceptor, "v", "{weaker:?}");
        let kept = discovery.chain().current();
        let prompt = crate::interceptor::ChainParams::new("resources/read", Phase::Request, json!({}));
        assert_eq!(kept.execute(prompt).await.status, ChainStatus::Success);
    }
}

#[tokio::test(start_paused = true)]
async fn no_override_reaches_what_stands_in() {
    let fake = Fake::legacy().validator("v");
    let base = Chain::builder().override_named("v", Overrides::new().mode(Mode::Audit));
    let builder = Discovery::builder()
        .server(fake.named("s"))
        .require(guard())
        .chain(base);
    let discovery = builder.start().await.unwrap();
    fake.withdraw("v");
    discovery.refresh().await.unwrap();
    assert!(!passes(&discovery).await);
}

#[tokio::test(start_paused = true)]
async fn what_a_server_strengthens_takes_effect() {
    let fake = Fake::legacy().validator("v");
    fake.change("v", "mode", json!("audit"));
    let required = guard().mode(Mode::Audit).fail_open(true);
    let builder = Discovery::builder().server(fake.named("s")).require(required);
    let discovery = builder.start().await.unwrap();
    fake.change("v", "mode", json!("active"));
    discovery.refresh().await.unwrap();
    assert!(passes(&discovery).await);
    assert_eq!(run(&discovery, "bad").await.status, ChainStatus::ValidationFailed);
}

#[tokio::test(start_paused = true)]
async fn an_override_of_what_is_gone_does_not_end_the_chain() {
    let fake = Fake::legacy().validator("v");
    let base = Chain::builder().override_on("s", "v", Overrides::new().fail_open(true));
    let discovery = Discovery::builder()
        .server(fake.named("s"))
        .chain(base)
        .start()
        .await
        .unwrap();
    fake.withdraw("v");
    discovery.refresh().await.unwrap();
    assert!(passes(&discovery).await);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_makes_no_chain_is_as_good_as_none() {
    let fake = Fake::legacy().validator("v");
    let narrow = Overrides::new().hooks([Hook::parse(Phase::Request, ["tools/call"]).unwrap()]);
    let base = Chain::builder().override_on("s", "v", narrow);
    let builder = Discovery::builder()
        .server(fake.named("s"))
        .chain(base)
        .max_age(Duration::from_secs(600));
    let discovery = builder.start().await.unwrap();
    fake.change("v", "hooks", json!([]));
    assert!(matches!(discovery.refresh().await, Err(DiscoveryError::Chain(_))));
    assert!(passes(&discovery).await);
    sleep(Duration::from_secs(601)).await;
    assert!(!passes(&discovery).await);
}
