//! What interceptors can and cannot read, and what mutators may not change.

use mcp_interceptors::{
    BoxError,
    chain::{Chain, Protected, Side},
    interceptor::{Interceptor, Invocation, Mode, MutationResult, Overflow},
    message::{ErrorObject, Id, Message, Payload},
    reply::{Body, Head, Opaque, Reply},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::{
    scripted::{backend, chain},
    support::{
        BUILDS, Build, CALL, Log, SAMPLING, SIDES, answer, call, drain, many, next, one, request_of, stack,
        value,
    },
};

const GET: &str = "prompts/get";

fn reading(fail_open: bool) -> Interceptor {
    let builder = Interceptor::validator("reads").on(GET).both();
    let builder = if fail_open { builder.fail_open() } else { builder };
    builder.handler(|payload: Payload| async move { payload.value().map(|_| true) })
}

fn odd_payloads() -> Vec<(&'static str, String)> {
    vec![
        (
            "a key twice",
            r#"{"name":"a","arguments":{"x":1,"\u0078":2}}"#.into(),
        ),
        (
            "a lone surrogate",
            r#"{"name":"a","arguments":{"x":"\ud800"}}"#.into(),
        ),
        (
            "too deep",
            format!(
                r#"{{"name":"a","arguments":{}{}}}"#,
                "[".repeat(200),
                "]".repeat(200)
            ),
        ),
        ("beyond f64", r#"{"name":"a","arguments":{"x":1e400}}"#.into()),
    ]
}

#[tokio::test]
async fn what_cannot_be_read_is_a_failure_and_fail_open_decides() {
    for (what, payload) in odd_payloads() {
        for fail_open in [false, true] {
            for build in BUILDS {
                let text = format!(r#"{{ "jsonrpc":"2.0","id":7,"method":"{GET}","params":{payload}}}"#);
                let message = Message::parse(text.clone()).unwrap();
                let log = Log::default();
                let service = stack(
                    build,
                    SIDES[0],
                    chain([reading(fail_open)]),
                    backend(&log, |_| Reply::one(answer())),
                );
                let reply = one(service.oneshot(message).await.unwrap());
                if fail_open {
                    assert_eq!(log.take(), [format!("backend {text}")], "{what}");
                    assert_eq!(reply, answer(), "{what}");
                } else {
                    let kind = &value(&reply)["error"]["data"]["kind"];
                    assert_eq!(kind, "validation_failed", "{what}");
                    assert_eq!(log.take(), Vec::<String>::new(), "{what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_same_holds_for_an_answer() {
    for (what, payload) in odd_payloads() {
        for build in BUILDS {
            let text = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{payload}}}"#);
            let odd = Message::parse(text).unwrap();
            for (fail_open, streamed) in [(false, false), (false, true), (true, false), (true, true)] {
                let odd = odd.clone();
                let reply = odd.clone();
                let service = stack(
                    build,
                    SIDES[0],
                    chain([reading(fail_open)]),
                    backend(&Log::default(), move |_| match streamed {
                        true => many([reply.clone()]),
                        false => Reply::one(reply.clone()),
                    }),
                );
                let replies = drain(service.oneshot(request_of(GET)).await.unwrap()).await;
                if fail_open {
                    assert_eq!(replies, [odd], "{what}");
                } else {
                    let kind = &value(&replies[0])["error"]["data"]["kind"];
                    assert_eq!((replies.len(), kind), (1, &json!("validation_failed")), "{what}");
                }
            }
        }
    }
}

/// What the backend gets of a call when a mutator answers with `change` made of the payload.
async fn mutated(freed: &[Protected], text: &str, change: Value) -> Value {
    let rewrite = Interceptor::mutator("rewrite")
        .on("*")
        .request()
        .handler(move || {
            let change = change.clone();
            async move { MutationResult::modified(change) }
        });
    let chain = freed
        .iter()
        .fold(Chain::builder().interceptor(rewrite), |chain, freed| {
            chain.free(*freed)
        });
    let chain = chain.build().unwrap();
    let mut seen = Vec::new();
    for build in BUILDS {
        let log = Log::default();
        let service = stack(build, SIDES[0], &chain, backend(&log, |_| Reply::one(answer())));
        let message = Message::parse(text.to_owned()).unwrap();
        service.oneshot(message).await.unwrap();
        let log = log.take();
        seen.push(serde_json::from_str::<Value>(log[0].strip_prefix("backend ").unwrap()).unwrap());
    }
    assert_eq!(seen[0], seen[1]);
    seen.remove(0)
}

const FULL: &str = r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"read","uri":"a:b","requestState":"opaque","arguments":{"x":1},"_meta":{"progressToken":5,"io.modelcontextprotocol/protocolVersion":"2026-07-28","vendor/x":"v"}}}"#;

#[tokio::test]
async fn mutators_keep_what_says_what_a_message_is() {
    let change = json!({
        "name": "rm", "uri": "c:d", "requestState": "forged", "arguments": {"x": 2},
        "_meta": {"progressToken": 6, "io.modelcontextprotocol/protocolVersion": "1", "vendor/x": "w",
                  "io.modelcontextprotocol/added": 1}
    });
    let seen = mutated(&[], FULL, change).await;
    assert_eq!(seen["id"].to_string(), "1.0");
    assert_eq!(seen["method"], "tools/call");
    assert_eq!(
        seen["params"],
        json!({
            "name": "read", "uri": "a:b", "requestState": "opaque", "arguments": {"x": 2},
            "_meta": {"progressToken": 5, "io.modelcontextprotocol/protocolVersion": "2026-07-28", "vendor/x": "w"}
        })
    );
}

#[tokio::test]
async fn what_a_mutator_removes_comes_back_where_it_is_protected_and_stays_away_where_not() {
    let seen = mutated(&[], FULL, json!({"arguments": {}})).await;
    assert_eq!(
        seen["params"],
        json!({
            "name": "read", "uri": "a:b", "requestState": "opaque", "arguments": {},
            "_meta": {"progressToken": 5, "io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        })
    );
    // And what was not there does not come.
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let seen = mutated(
        &[],
        bare,
        json!({"name": "x", "_meta": {"progressToken": 1}, "cursor": "c"}),
    )
    .await;
    assert_eq!(seen["params"], json!({"_meta": {}, "cursor": "c"}));
}

#[tokio::test]
async fn a_setting_frees_one_of_them() {
    let change =
        json!({"name": "other", "uri": "c:d", "requestState": "forged", "_meta": {"progressToken": 6}});
    let seen = mutated(&[Protected::Name], FULL, change.clone()).await;
    assert_eq!(seen["params"]["name"], "other");
    assert_eq!(seen["params"]["uri"], "a:b");
    let seen = mutated(
        &[Protected::Uri, Protected::RequestState, Protected::Protocol],
        FULL,
        change,
    )
    .await;
    let params =
        json!({"name": "read", "uri": "c:d", "requestState": "forged", "_meta": {"progressToken": 6}});
    assert_eq!(seen["params"], params);
}

#[tokio::test]
async fn a_mutator_cannot_make_of_null_what_is_no_params() {
    // Its answer is malformed: failOpen decides, as for every failure of it.
    for (fail_open, change) in [(false, json!([1])), (true, json!([1])), (false, json!("text"))] {
        for build in BUILDS {
            let builder = Interceptor::mutator("m").on(GET).request();
            let builder = if fail_open { builder.fail_open() } else { builder };
            let change = change.clone();
            let rewrite = builder.handler(move || {
                let change = change.clone();
                async move { MutationResult::modified(change) }
            });
            let log = Log::default();
            let service = stack(
                build,
                SIDES[0],
                chain([rewrite]),
                backend(&log, |_| Reply::one(answer())),
            );
            let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{GET}","params":null}}"#);
            let reply = one(service
                .oneshot(Message::parse(text.clone()).unwrap())
                .await
                .unwrap());
            if fail_open {
                assert_eq!(log.take(), [format!("backend {text}")]);
            } else {
                assert_eq!(value(&reply)["error"]["data"]["kind"], "mutation_failed");
                assert_eq!(log.take(), Vec::<String>::new());
            }
        }
    }
}

#[tokio::test]
async fn error_answers_reach_only_those_that_ask() {
    for build in BUILDS {
        for streamed in [false, true] {
            let log = Log::default();
            let redact = |name: &'static str| {
                let log = log.clone();
                move |invocation: Invocation| {
                    log.push(format!("{name} {}", invocation.is_error));
                    async move {
                        let mut payload = invocation.payload;
                        payload.edit_strings(|text| text.contains("secret").then(|| "***".into()))?;
                        Ok::<_, BoxError>(Some(payload))
                    }
                }
            };
            let chain = chain([
                Interceptor::mutator("asks")
                    .on(CALL)
                    .response()
                    .errors()
                    .handler(redact("asks")),
                Interceptor::mutator("does-not")
                    .on(CALL)
                    .response()
                    .handler(redact("does-not")),
            ]);
            let service = stack(
                build,
                SIDES[0],
                chain,
                backend(&Log::default(), move |_| {
                    let error = Message::error(Some(&Id::from(7)), &ErrorObject::new(-1, "a secret"));
                    if streamed {
                        many([error])
                    } else {
                        Reply::one(error)
                    }
                }),
            );
            let replies = drain(service.oneshot(call()).await.unwrap()).await;
            let expected = Message::error(Some(&Id::from(7)), &ErrorObject::new(-1, "***"));
            assert_eq!(replies, [expected]);
            assert_eq!(log.take(), ["asks true"], "{build:?} {streamed}");
        }
    }
}

#[tokio::test]
async fn an_error_that_nobody_asks_for_passes_untouched() {
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([crate::scripted::deny_answer(CALL)]),
            backend(&Log::default(), |_| {
                Reply::one(Message::error(None, &ErrorObject::new(-32700, "parse error")))
            }),
        );
        let reply = one(service.oneshot(call()).await.unwrap());
        let expected = Message::error(None, &ErrorObject::new(-32700, "parse error"));
        assert_eq!(reply, expected);
    }
}

#[tokio::test]
async fn an_opaque_success_is_refused_where_the_answer_is_hooked_and_passes_else() {
    let page = |status: Option<u16>| {
        let reply = Reply::opaque(Opaque::from(bytes::Bytes::from_static(b"<html>")));
        match status {
            Some(status) => reply.with_head(Head::new(http::StatusCode::from_u16(status).unwrap())),
            None => reply,
        }
    };
    for side in SIDES {
        for build in BUILDS {
            for (event, status, refused) in [
                (CALL, Some(200), true),
                (CALL, None, true),
                (CALL, Some(202), true),
                (CALL, Some(401), false),
                (CALL, Some(302), false),
                (CALL, Some(500), false),
                ("prompts/list", Some(200), false),
            ] {
                let service = stack(
                    build,
                    side,
                    chain([crate::scripted::deny_answer(CALL)]),
                    backend(&Log::default(), move |_| page(status)),
                );
                let reply = service.oneshot(request_of(event)).await.unwrap();
                match reply.body {
                    Body::Opaque(opaque) => {
                        assert!(!refused, "{event} {status:?}");
                        assert_eq!(opaque.as_bytes().unwrap(), "<html>");
                    }
                    Body::One(error) => {
                        assert!(refused, "{event} {status:?}");
                        assert!(error.is_made_by_stack());
                        assert_eq!(error.id(), Some(Id::from(7)));
                        assert_eq!(value(&error)["error"]["code"], -32603);
                        assert_eq!(value(&error)["error"]["data"]["kind"], "validation_failed");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

/// What cannot be read could hold a server's request as well as the answer. It passes where all that hook either
/// would let it pass: audits, sinks, those that fail open.
#[tokio::test]
async fn an_opaque_success_is_refused_only_for_those_that_must_see_it() {
    let validator = |event| Interceptor::validator("v").on(event);
    let pass = || async { true };
    let cases = [
        (validator(SAMPLING).request().handler(pass), true),
        (validator("notifications/progress").request().handler(pass), true),
        (validator("prompts/get").both().handler(pass), false),
        (validator(CALL).response().mode(Mode::Audit).handler(pass), false),
        (validator(CALL).response().fail_open().handler(pass), false),
        (
            Interceptor::sink("s").on(CALL).response().handler(|| async {}),
            false,
        ),
        (
            Interceptor::sink("s")
                .on(CALL)
                .response()
                .on_overflow(Overflow::Block)
                .handler(|| async {}),
            true,
        ),
    ];
    for (interceptor, refused) in cases {
        let what = format!("{interceptor:?}");
        let inner = backend(&Log::default(), |_| {
            Reply::opaque(Opaque::from(bytes::Bytes::from_static(b"<html>")))
        });
        let service = stack(Build::Fused, Side::Client, chain([interceptor]), inner);
        let reply = service.oneshot(request_of(CALL)).await.unwrap();
        assert_eq!(matches!(reply.body, Body::One(_)), refused, "{what}");
    }
}

/// On the side of a server validation comes before mutation. A change of what a message is must not slip past it.
#[tokio::test]
async fn a_freed_change_is_validated_again() {
    for (renamed, blocked) in [("rm", true), ("ls", false)] {
        let rename = Interceptor::mutator("rename").on(CALL).request().handler(
            move |mut payload: Payload| async move { payload.set("/name", renamed).map(|()| Some(payload)) },
        );
        let no_rm =
            Interceptor::validator("no-rm")
                .on(CALL)
                .request()
                .handler(|payload: Payload| async move {
                    Ok::<_, BoxError>(payload.get("/name")?.unwrap().raw() != "\"rm\"")
                });
        let chain = Chain::builder()
            .interceptors([rename, no_rm])
            .free(Protected::Name)
            .build()
            .unwrap();
        let log = Log::default();
        let service = stack(
            Build::Fused,
            Side::Server,
            &chain,
            backend(&log, |_| Reply::one(answer())),
        );
        let call = Message::request(&Id::from(7), CALL, &json!({"name": "echo"})).unwrap();
        let reply = value(&one(service.oneshot(call).await.unwrap()));
        assert_eq!(reply["result"]["isError"] == true, blocked, "{renamed}");
        assert_eq!(log.take().is_empty(), blocked, "{renamed}");
    }
}

#[tokio::test]
async fn a_reply_that_was_refused_unread_is_in_the_report_too() {
    for build in BUILDS {
        let (sender, mut reports) = mpsc::unbounded_channel();
        let chain = Chain::builder()
            .interceptor(crate::scripted::deny_answer(GET))
            .observer(move |report: &mcp_interceptors::chain::Report| _ = sender.send(report.clone()))
            .build()
            .unwrap();
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), |_| {
                Reply::opaque(Opaque::from(bytes::Bytes::from_static(b"<html>")))
            }),
        );
        let reply = value(&one(service.oneshot(request_of(GET)).await.unwrap()));
        let report = reports.try_recv().unwrap();
        assert_eq!(reply["error"]["data"]["decisionId"], report.decision.to_string());
        assert_eq!(&*report.event, GET);
        assert_eq!(&*report.blocked.unwrap().interceptor, "deny-answer");
        assert!(reports.try_recv().is_err(), "one report");
    }
}

#[tokio::test]
async fn an_interceptor_can_see_the_request_with_its_answer() {
    for build in BUILDS {
        for in_process in [false, true] {
            let (sender, mut seen) = mpsc::unbounded_channel();
            let watch = Interceptor::validator("watch")
                .on(CALL)
                .response()
                .with_request()
                .handler(move |invocation: Invocation| {
                    let request = invocation
                        .request
                        .as_ref()
                        .map(|request| request.as_json().to_owned());
                    sender.send(request).unwrap();
                    async { true }
                });
            let service = stack(
                build,
                SIDES[0],
                chain([watch]),
                backend(&Log::default(), move |message| {
                    // A backend in process says itself what it answers; one on a wire does not.
                    let answered = message.answer(Ok(&json!({}))).unwrap();
                    Reply::one(if in_process { answered } else { answer() })
                }),
            );
            service.oneshot(call()).await.unwrap();
            let expected = call().payload().as_json().to_owned();
            assert_eq!(next(&mut seen).await, Some(expected), "{build:?} {in_process}");
        }
    }
}
