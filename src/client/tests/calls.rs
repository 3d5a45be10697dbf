//! Connecting, and the two methods.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Fake, Say, error, settle};
use crate::{
    client::{InterceptorServer, ServerErrorKind},
    interceptor::{InvocationContext, InvokeParams, Phase},
    message::Era,
};

fn ask(name: &str) -> InvokeParams {
    InvokeParams::new(name, "tools/call", Phase::Request, json!({"text": "x"}))
}

#[tokio::test(start_paused = true)]
async fn a_server_of_either_era_is_recognised_and_remembered() {
    for (fake, era, greeted) in [
        (
            Fake::modern().validator("v"),
            Era::Modern,
            vec!["server/discover"],
        ),
        (
            Fake::legacy().validator("v"),
            Era::Legacy,
            vec!["server/discover", "initialize", "notifications/initialized"],
        ),
    ] {
        let server = fake.named("s");
        assert_eq!(server.era(), None);
        server.invoke(ask("v")).await.unwrap();
        server.invoke(ask("v")).await.unwrap();
        assert_eq!(server.era(), Some(era));
        let mut expected = greeted;
        expected.extend(["interceptor/invoke"; 2]);
        assert_eq!(fake.methods(), expected);
        let meta = &fake.last("interceptor/invoke")["_meta"];
        let version = &meta["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version.as_str(), (era == Era::Modern).then_some("2026-07-28"));
        assert_eq!(server.capability().is_some(), era == Era::Modern);
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_of_the_probe_but_a_result_leads_to_initialize() {
    for say in [
        error(-32601, "method not found", None),
        error(-32602, "bad params", None),
        error(-32600, "not initialized", None),
        error(0, "?", None),
        error(-32022, "unsupported", None),
        Say::Result(json!({"supportedVersions": ["2099-01-01"]})),
        Say::Result(json!("no object")),
        Say::Raw(r#"{"jsonrpc":"2.0","id":"another","result":{}}"#),
        Say::Hang,
        Say::Die,
        Say::Half,
    ] {
        let fake = Fake::legacy().validator("v");
        fake.instead("server/discover", Some(say));
        let server = fake.named("s");
        server.invoke(ask("v")).await.unwrap();
        assert_eq!(server.era(), Some(Era::Legacy));
        assert_eq!(server.protocol_version().as_deref(), Some("2025-11-25"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_known_is_refused() {
    let fake = Fake::legacy();
    fake.instead(
        "initialize",
        Some(Say::Result(json!({"protocolVersion": "1999-01-01"}))),
    );
    let failed = fake.named("s").connect().await.unwrap_err();
    assert_eq!(failed.kind(), ServerErrorKind::Version);
    assert!(failed.to_string().contains("1999-01-01"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn ts_068_list_asks_for_an_event_and_a_page() {
    let fake = Fake::legacy().validator("v").mutator("m", 0);
    let list = fake.named("s").list(Some("tools/call"), Some("c")).await.unwrap();
    assert_eq!(list.interceptors.len(), 2);
    assert_eq!(
        fake.last("interceptors/list"),
        json!({"event": "tools/call", "cursor": "c"})
    );
}

#[tokio::test(start_paused = true)]
async fn ts_069_go_006_invoke_gives_the_result_as_it_is() {
    let fake = Fake::modern().validator("v");
    let server = fake.named("s");
    let params = InvokeParams::new("v", "tools/call", Phase::Request, json!({"text": "bad"}))
        .with_config(json!({"strict": true}))
        .with_timeout(Duration::from_secs(5))
        .with_context(InvocationContext::now().with_session_id("s-1"));
    let answer = server.invoke(params).await.unwrap();
    assert!(answer.outcome().unwrap().blocks());
    assert_eq!((&*answer.interceptor, answer.phase), ("v", Phase::Request));
    let sent = fake.last("interceptor/invoke");
    assert_eq!(sent["payload"], json!({"text": "bad"}));
    assert_eq!(sent["config"], json!({"strict": true}));
    assert_eq!(sent["timeoutMs"], 5000);
    assert_eq!(sent["context"]["sessionId"], "s-1");
}

#[tokio::test(start_paused = true)]
async fn ts_129_members_of_the_callers_meta_survive_beside_ours() {
    let fake = Fake::modern().validator("v");
    let mut params = ask("v");
    params
        .extra
        .insert("_meta", serde_json::from_str(r#"{"mine":1}"#).unwrap());
    fake.named("s").invoke(params).await.unwrap();
    let meta = &fake.last("interceptor/invoke")["_meta"];
    assert_eq!(meta["mine"], 1);
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn ts_072_list_all_drains_pages() {
    let fake = Fake::legacy();
    let server = fake.named("s");
    let page = |name: &str, next: Value| {
        Say::Result(
            json!({"interceptors": [{"name": name, "type": "sink", "hooks": []}, {"name": ""}], "nextCursor": next}),
        )
    };
    fake.instead("interceptors/list", Some(page("a", "page-2".into())));
    server.connect().await.unwrap();
    let (all, ()) = tokio::join!(server.list_all(None), async {
        fake.instead("interceptors/list", Some(page("b", Value::Null)));
    });
    let all = all.unwrap();
    let names: Vec<_> = all
        .interceptors
        .iter()
        .map(|descriptor| &*descriptor.name)
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(fake.last("interceptors/list")["cursor"], "page-2");
    assert_eq!(
        all.rejected
            .iter()
            .map(|rejected| rejected.index)
            .collect::<Vec<_>>(),
        [1, 3]
    );
}

#[tokio::test(start_paused = true)]
async fn go_008_go_009_errors_are_typed() {
    let cases = [
        (
            error(-32602, "no x", Some("unknown_interceptor")),
            ServerErrorKind::Refused,
            Some(-32602),
        ),
        (
            error(-32000, "late", Some("timeout")),
            ServerErrorKind::Timeout,
            Some(-32000),
        ),
        (
            error(-32603, "Timed out after 5ms", None),
            ServerErrorKind::Timeout,
            Some(-32603),
        ),
        (
            error(-32603, "boom", None),
            ServerErrorKind::Refused,
            Some(-32603),
        ),
        (Say::Die, ServerErrorKind::Unavailable, None),
        (Say::Half, ServerErrorKind::Unavailable, None),
        (
            Say::Result(json!({"type": "validation", "valid": "yes"})),
            ServerErrorKind::Malformed,
            None,
        ),
        (
            Say::Result(json!({"type": "validation", "valid": true, "interceptor": "another"})),
            ServerErrorKind::Malformed,
            None,
        ),
        (
            Say::Raw(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#),
            ServerErrorKind::Malformed,
            None,
        ),
        (
            Say::Raw(r#"{"jsonrpc":"2.0","id":$id,"error":{"message":"no"}}"#),
            ServerErrorKind::Malformed,
            None,
        ),
    ];
    for (say, kind, code) in cases {
        let fake = Fake::modern();
        fake.instead("interceptor/invoke", Some(say));
        let failed = fake.named("guards").invoke(ask("x")).await.unwrap_err();
        assert_eq!(
            (failed.kind(), failed.code(), failed.server()),
            (kind, code, "guards"),
            "{failed}"
        );
    }
    let forged = Fake::modern();
    forged.instead(
        "interceptor/invoke",
        Some(error(1, "a\nERROR forged", Some("a\u{1b}[2J"))),
    );
    let failed = forged.named("s").invoke(ask("x")).await.unwrap_err();
    assert_eq!(failed.text(), "a\\nERROR forged");
    assert_eq!(failed.data_kind(), Some("a\\u{1b}[2J"));
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_within_its_time_and_is_cancelled_by_the_means_of_the_era() {
    for (fake, notified) in [(Fake::legacy(), 1), (Fake::modern(), 0)] {
        let server = fake.named("s");
        server.connect().await.unwrap();
        fake.instead("interceptor/invoke", Some(Say::Hang));
        let began = Instant::now();
        let failed = server
            .invoke(ask("v").with_timeout(Duration::from_millis(50)))
            .await
            .unwrap_err();
        assert_eq!(failed.kind(), ServerErrorKind::Timeout);
        assert_eq!(began.elapsed(), Duration::from_millis(50));
        settle().await;
        assert_eq!(fake.dropped(), 1);
        assert_eq!(fake.count("notifications/cancelled"), notified);
        if notified == 1 {
            let id = &fake.last("notifications/cancelled")["requestId"];
            assert!(id.is_i64(), "{id}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_transport_is_negotiated_anew_with_the_next_call() {
    let fake = Fake::legacy().validator("v");
    let server = fake.named("s");
    server.connect().await.unwrap();
    fake.instead("interceptor/invoke", Some(Say::Die));
    server.invoke(ask("v")).await.unwrap_err();
    assert_eq!(server.era(), None);
    fake.instead("interceptor/invoke", None);
    server.invoke(ask("v")).await.unwrap();
    assert_eq!(fake.count("initialize"), 2);
}

#[tokio::test(start_paused = true)]
async fn ts_053_one_impatient_caller_does_not_end_the_connecting_of_others() {
    let fake = Fake::legacy().validator("v");
    fake.instead("server/discover", Some(Say::Hang));
    let server = fake.named("s");
    let impatient = server.invoke(ask("v").with_timeout(Duration::from_millis(10)));
    let patient = server.invoke(ask("v"));
    let (impatient, patient) = tokio::join!(impatient, patient);
    assert_eq!(impatient.unwrap_err().kind(), ServerErrorKind::Timeout);
    patient.unwrap();
    assert_eq!((fake.count("server/discover"), fake.count("initialize")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn connecting_that_failed_is_not_tried_again_at_once() {
    let fake = Fake::legacy();
    fake.instead("initialize", Some(error(-32603, "not now", None)));
    let server = fake.named("s");
    for _ in 0..3 {
        server.connect().await.unwrap_err();
    }
    assert_eq!(fake.count("initialize"), 1);
    fake.instead("initialize", None);
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.connect().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_was_handed_in_is_not_told_to_end() {
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = std::sync::Arc::clone(&ended);
    let inner = Fake::modern().service();
    let service = tower::service_fn(move |message: crate::message::Message| {
        if message.kind() == crate::message::Kind::End {
            flag.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        tower::ServiceExt::oneshot(inner.clone(), message)
    });
    let server = InterceptorServer::new("s", service);
    server.connect().await.unwrap();
    server.close().await;
    assert!(!ended.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(
        server.list(None, None).await.unwrap_err().kind(),
        ServerErrorKind::Closed
    );
}
