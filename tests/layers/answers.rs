//! What is said in place of what was blocked, and to whom.

use std::sync::Arc;

use mcp_interceptors::{
    BoxError,
    interceptor::{Interceptor, ValidationResult},
    message::{Asked, Era, Exchange, Id, Kind, Message},
    reply::{Body, Event, Events, Reply, Sse},
};
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::{
    scripted::{backend, chain, deny, deny_answer, three},
    support::{
        BUILDS, CALL, Log, SAMPLING, SIDES, answer, answer_to, call, drain, events, many, next, notification,
        one, sampling, stack, value,
    },
};

#[tokio::test]
async fn absent_params_are_an_event() {
    for side in SIDES {
        for build in BUILDS {
            let log = Log::default();
            let chain = chain([deny("tools/list")]);
            let service = stack(build, side, &chain, backend(&log, |_| Reply::one(answer())));
            for text in [
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools\/list"}"#,
            ] {
                let reply = service.clone().oneshot(Message::parse(text).unwrap()).await;
                let reply = value(&one(reply.unwrap()));
                assert_eq!(reply["error"]["data"]["kind"], "blocked", "{text}");
            }
            assert_eq!(log.take(), Vec::<String>::new());
        }
    }
}

fn client_answer() -> Message {
    let answer = Message::response(
        &Id::from_json("9.0e2").unwrap(),
        &serde_json::json!({"role": "user"}),
    );
    let asked = Asked::new(SAMPLING, Some(Id::from(900)), Era::Legacy);
    answer.unwrap().with_in_reply_to(asked.into())
}

#[tokio::test]
async fn in_place_of_a_clients_blocked_answer_the_server_gets_an_error() {
    for side in SIDES {
        for build in BUILDS {
            let (sender, mut seen) = mpsc::unbounded_channel();
            let service = stack(
                build,
                side,
                chain([deny_answer(SAMPLING)]),
                tower::service_fn(move |message: Message| {
                    sender.send(message).unwrap();
                    async { Ok::<_, BoxError>(Reply::accepted()) }
                }),
            );
            let reply = service.oneshot(client_answer()).await.unwrap();
            assert!(matches!(reply.body, Body::Accepted));
            let answer = next(&mut seen).await;
            assert_eq!(answer.kind(), Kind::Error);
            assert_eq!(answer.id().unwrap().as_json(), "9.0e2");
            assert_eq!(value(&answer)["error"]["data"]["kind"], "blocked");
            assert_eq!(value(&answer)["error"]["code"], -32602);
        }
    }
}

#[tokio::test]
async fn an_answer_that_nobody_can_name_does_not_reach_the_server() {
    for build in BUILDS {
        let log = Log::default();
        let service = stack(
            build,
            SIDES[0],
            three(&Log::default(), &[SAMPLING]),
            backend(&log, |_| Reply::accepted()),
        );
        let reply = service.oneshot(answer_to(900)).await.unwrap();
        assert!(matches!(reply.body, Body::Accepted));
        assert_eq!(log.take(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_blocked_notification_is_swallowed() {
    const PROGRESS: &str = "notifications/progress";
    for build in BUILDS {
        let log = Log::default();
        let streams = |_: &Message| many([notification(PROGRESS), answer()]);
        let service = stack(build, SIDES[0], chain([deny(PROGRESS)]), backend(&log, streams));
        let reply = service.clone().oneshot(notification(PROGRESS)).await.unwrap();
        assert!(matches!(reply.body, Body::Accepted));
        assert_eq!(log.take(), Vec::<String>::new());
        let reply = service.oneshot(call()).await.unwrap();
        assert_eq!(drain(reply).await, [answer()]);
    }
}

/// A backend whose answer to a call is a stream with a sampling request, and which tells what else it gets.
fn asking_backend() -> (
    impl mcp_interceptors::McpService<Error = BoxError>,
    mpsc::UnboundedReceiver<Message>,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |message: Message| {
        let sender = sender.clone();
        async move {
            if message.is_request(CALL) {
                return Ok::<_, BoxError>(many([sampling(), answer()]));
            }
            sender.send(message).unwrap();
            Ok(Reply::accepted())
        }
    });
    (service, receiver)
}

#[tokio::test]
async fn a_blocked_server_request_is_answered_and_the_client_does_not_see_it() {
    for side in SIDES {
        for build in BUILDS {
            let (backend, mut answers) = asking_backend();
            let service = stack(build, side, chain([deny(SAMPLING)]), backend);
            let exchange = Arc::new(Exchange::new().with_session("s-1"));
            let message = call().with_exchange(Arc::clone(&exchange));
            let reply = service.oneshot(message).await.unwrap();
            assert_eq!(drain(reply).await, [answer()]);
            let error = next(&mut answers).await;
            assert_eq!(error.kind(), Kind::Error);
            assert_eq!(error.id(), Some(Id::from(900)));
            assert_eq!(value(&error)["error"]["data"]["kind"], "blocked");
            assert_eq!(error.in_reply_to().unwrap().method(), SAMPLING);
            assert!(
                Arc::ptr_eq(error.exchange(), &exchange),
                "it needs the credentials"
            );
        }
    }
}

#[tokio::test]
async fn a_blocked_server_request_is_answered_also_when_the_client_has_left() {
    for build in BUILDS {
        let (backend, mut answers) = asking_backend();
        let service = stack(build, SIDES[0], chain([deny(SAMPLING)]), backend);
        let Body::Many(mut events) = service.oneshot(call()).await.unwrap().body else {
            panic!("a stream")
        };
        // The event is taken in and blocked; then the client is gone.
        let event = events.next().await.unwrap().unwrap();
        assert_eq!(event.message(), Some(&answer()));
        drop(events);
        assert_eq!(next(&mut answers).await.kind(), Kind::Error);
    }
}

#[tokio::test]
async fn the_answer_to_a_blocked_server_request_waits_for_readiness_and_holds_up_nobody() {
    for build in BUILDS {
        let (backend, mut answers) = asking_backend();
        let limit = Arc::new(tokio::sync::Semaphore::new(1));
        let limited = tower::Layer::layer(
            &tower::limit::GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&limit)),
            backend,
        );
        let service = stack(build, SIDES[0], chain([deny(SAMPLING)]), limited);
        let reply = service.oneshot(call()).await.unwrap();
        // Somebody else has the only permit now.
        let permit = Arc::clone(&limit).acquire_owned().await.unwrap();
        assert_eq!(drain(reply).await, [answer()]);
        assert!(answers.try_recv().is_err());
        drop(permit);
        assert_eq!(next(&mut answers).await.kind(), Kind::Error);
    }
}

#[tokio::test]
async fn an_sse_id_survives_what_is_suppressed() {
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([deny("notifications/message"), deny(SAMPLING)]),
            tower::service_fn(|_: Message| async {
                let text = |data: &str| format!(": c\nid: 7\nevent: message\ndata: {data}\n\n");
                let event = |message: Message| {
                    let sse = Sse::parse(text(message.as_json()).into());
                    let message = Message::parse(sse.data().unwrap().clone()).unwrap();
                    Ok::<_, BoxError>(Event::with_sse(message, sse))
                };
                Ok::<_, BoxError>(Reply::many(Events::new(futures::stream::iter([
                    event(notification("notifications/message")),
                    event(sampling()),
                    Ok(notification("notifications/message").into()),
                    Ok(Event::bare(Sse::parse(": ping\n\n".into()))),
                    event(answer()),
                ]))))
            }),
        );
        let events = events(service.oneshot(call()).await.unwrap()).await;
        let texts: Vec<_> = events
            .iter()
            .map(|event| String::from_utf8(event.to_sse().to_vec()).unwrap())
            .collect();
        let empty = ": c\nid: 7\nevent: message\ndata:\n\n";
        let last = format!(": c\nid: 7\nevent: message\ndata: {}\n\n", answer().as_json());
        assert_eq!(texts, [empty, empty, ": ping\n\n", &last], "{build:?}");
    }
}

#[tokio::test]
async fn the_acknowledgement_of_a_listen_stream_is_never_dropped() {
    const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([deny(ACKNOWLEDGED), deny("notifications/message")]),
            backend(&Log::default(), |_| {
                many([notification(ACKNOWLEDGED), notification("notifications/message")])
            }),
        );
        let reply = service.oneshot(crate::support::request_of("subscriptions/listen"));
        assert_eq!(drain(reply.await.unwrap()).await, [notification(ACKNOWLEDGED)]);
    }
}

#[tokio::test]
async fn a_modern_blocked_call_says_that_its_result_is_complete() {
    let params = serde_json::json!({
        "name": "rm", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    });
    for build in BUILDS {
        for interceptor in [deny(CALL), deny_answer(CALL)] {
            let message = Message::request(&Id::from("a"), CALL, &params).unwrap();
            let answers = |message: &Message| {
                Reply::one(Message::response(&message.id().unwrap(), &serde_json::json!({})).unwrap())
            };
            let service = stack(
                build,
                SIDES[0],
                chain([interceptor]),
                backend(&Log::default(), answers),
            );
            let reply = value(&one(service.oneshot(message).await.unwrap()));
            assert_eq!(reply["result"]["resultType"], "complete");
            assert_eq!(reply["id"], "a");
        }
    }
}

#[tokio::test]
async fn the_decision_is_the_same_in_the_reply_and_in_the_report() {
    let (sender, mut reports) = mpsc::unbounded_channel();
    let chain = mcp_interceptors::chain::Chain::builder()
        .interceptor(deny("prompts/get"))
        .observer(move |report: &mcp_interceptors::chain::Report| _ = sender.send(report.clone()))
        .build()
        .unwrap();
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), |_| Reply::accepted()),
        );
        let reply = service.oneshot(crate::support::request_of("prompts/get")).await;
        let reply = value(&one(reply.unwrap()));
        let report = next(&mut reports).await;
        assert_eq!(reply["error"]["data"]["decisionId"], report.decision.to_string());
        assert_eq!(report.blocked.unwrap().reason, "no");
        assert_eq!(&*report.event, "prompts/get");
    }
}

#[tokio::test]
async fn a_remote_validators_words_are_not_shown_unless_asked_for() {
    use mcp_interceptors::chain::{Chain, Detail};
    let reply_with = |detail: Detail, remote: bool| async move {
        let refuse = Interceptor::validator("guard")
            .on("prompts/get")
            .request()
            .handler(|| async { ValidationResult::fail("inner words") });
        let refuse = if remote {
            refuse.hosted_by("elsewhere")
        } else {
            refuse
        };
        let chain = Chain::builder()
            .interceptor(refuse)
            .detail(detail)
            .build()
            .unwrap();
        let service = stack(
            BUILDS[0],
            SIDES[0],
            chain,
            backend(&Log::default(), |_| Reply::accepted()),
        );
        one(service
            .oneshot(crate::support::request_of("prompts/get"))
            .await
            .unwrap())
        .as_json()
        .to_owned()
    };
    for (detail, remote, name, words) in [
        (Detail::Auto, false, true, true),
        (Detail::Auto, true, true, false),
        (Detail::Messages, true, true, true),
        (Detail::Name, false, true, false),
        (Detail::Generic, false, false, false),
    ] {
        let reply = reply_with(detail, remote).await;
        assert_eq!(reply.contains("guard"), name, "{reply}");
        assert_eq!(reply.contains("inner words"), words, "{reply}");
    }
}

#[tokio::test]
async fn an_observer_that_panics_costs_nobody_anything() {
    let (sender, mut reports) = mpsc::unbounded_channel();
    let chain = mcp_interceptors::chain::Chain::builder()
        .interceptor(deny("prompts/get"))
        .observer(|_: &mcp_interceptors::chain::Report| panic!("in an observer"))
        .observer(move |report: &mcp_interceptors::chain::Report| _ = sender.send(report.decision))
        .build()
        .unwrap();
    for build in BUILDS {
        let backend = backend(&Log::default(), |_| Reply::accepted());
        let service = stack(build, SIDES[0], &chain, backend);
        let reply = service.oneshot(crate::support::request_of("prompts/get")).await;
        let reply = value(&one(reply.unwrap()));
        let decision = next(&mut reports).await.to_string();
        assert_eq!(reply["error"]["data"]["decisionId"], decision);
    }
}
