//! Replies that are streams.

use mcp_interceptors::{
    BoxError,
    interceptor::{Interceptor, MutationResult},
    message::{Id, Message},
    reply::{Body, Event, Events, Reply, Sse},
};
use serde_json::json;
use tower::ServiceExt;

use crate::{
    scripted::{backend, chain, deny_answer},
    support::{
        BUILDS, CALL, Log, SIDES, answer, answer_to, call, drain, events, many, notification, one, stack,
        value,
    },
};

#[tokio::test]
async fn an_answer_to_another_request_is_withheld_where_answers_are_hooked() {
    for side in SIDES {
        for build in BUILDS {
            let stream = |_: &Message| many([answer_to(8), notification("notifications/x"), answer()]);
            let hooked = chain([Interceptor::validator("v")
                .on("prompts/get")
                .response()
                .handler(|| async { true })]);
            let service = stack(build, side, hooked, backend(&Log::default(), stream));
            let replies = drain(service.oneshot(call()).await.unwrap()).await;
            assert_eq!(
                replies,
                [notification("notifications/x"), answer()],
                "{build:?} {side:?}"
            );
            // Where no answer is hooked it is nobody's business.
            let unhooked = chain([crate::scripted::deny("prompts/get")]);
            let service = stack(build, side, unhooked, backend(&Log::default(), stream));
            let replies = drain(service.oneshot(call()).await.unwrap()).await;
            assert_eq!(replies, [answer_to(8), notification("notifications/x"), answer()]);
        }
    }
}

#[tokio::test]
async fn a_single_answer_to_another_request_is_an_error_of_the_backend() {
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([deny_answer("prompts/get")]),
            backend(&Log::default(), |_| Reply::one(answer_to(8))),
        );
        let error = service.oneshot(call()).await.unwrap_err();
        assert_eq!(error.to_string(), "the backend answered another request");
    }
}

#[tokio::test]
async fn ids_are_equal_as_values_whatever_their_spelling() {
    for build in BUILDS {
        for (asked, answered) in [("1", "1.0"), ("1e2", "100"), (r#""a""#, r#""\u0061""#)] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{asked},"method":"tools/call","params":{{}}}}"#);
            let reply = format!(r#"{{"jsonrpc":"2.0","id":{answered},"result":{{}}}}"#);
            let service = stack(
                build,
                SIDES[0],
                chain([deny_answer(CALL)]),
                backend(&Log::default(), move |_| {
                    Reply::one(Message::parse(reply.clone()).unwrap())
                }),
            );
            let reply = one(service.oneshot(Message::parse(request).unwrap()).await.unwrap());
            assert_eq!(value(&reply)["result"]["isError"], true, "{asked} {answered}");
        }
    }
}

#[tokio::test]
async fn an_answer_in_a_stream_is_intercepted_as_one_alone_is() {
    for side in SIDES {
        for build in BUILDS {
            for streamed in [false, true] {
                let rewrite = Interceptor::mutator("m")
                    .on(CALL)
                    .response()
                    .handler(|| async { MutationResult::modified(json!({"content": []})) });
                let service = stack(
                    build,
                    side,
                    chain([rewrite]),
                    backend(&Log::default(), move |_| match streamed {
                        true => many([notification("notifications/progress"), answer()]),
                        false => Reply::one(answer()),
                    }),
                );
                let replies = drain(service.oneshot(call()).await.unwrap()).await;
                let expected = Message::response(&Id::from(7), &json!({"content": []})).unwrap();
                assert_eq!(replies.last(), Some(&expected), "{build:?} {side:?} {streamed}");
                assert_eq!(replies.len(), 1 + usize::from(streamed));
            }
        }
    }
}

#[tokio::test]
async fn a_blocked_answer_in_a_stream_is_answered_in_its_place_and_keeps_its_sse_fields() {
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([deny_answer(CALL)]),
            tower::service_fn(|_: Message| async {
                let sse = Sse::parse(format!("id: 3\r\ndata: {}\r\n\r\n", answer().as_json()).into());
                let event = Event::with_sse(Message::parse(sse.data().unwrap().clone()).unwrap(), sse);
                Ok::<_, BoxError>(Reply::many(Events::new(futures::stream::iter([
                    Ok::<_, BoxError>(event),
                ]))))
            }),
        );
        let events = events(service.oneshot(call()).await.unwrap()).await;
        assert_eq!(events.len(), 1);
        let message = events[0].message().unwrap();
        assert_eq!(value(message)["result"]["isError"], true);
        let text = format!("id: 3\r\ndata: {}\r\n\r\n", message.as_json());
        assert_eq!(events[0].to_sse(), text);
    }
}

#[tokio::test]
async fn an_error_of_the_stream_passes_and_the_rest_goes_on() {
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([Interceptor::validator("v")
                .on(CALL)
                .both()
                .handler(|| async { true })]),
            tower::service_fn(|_: Message| async {
                let items: Vec<Result<Message, BoxError>> = vec![Err("a hiccup".into()), Ok(answer())];
                Ok::<_, BoxError>(Reply::many(Events::new(futures::stream::iter(items))))
            }),
        );
        let Body::Many(mut events) = service.oneshot(call()).await.unwrap().body else {
            panic!("a stream")
        };
        assert_eq!(events.next().await.unwrap().unwrap_err().to_string(), "a hiccup");
        assert_eq!(events.next().await.unwrap().unwrap().message(), Some(&answer()));
        assert!(events.next().await.is_none());
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_drops_the_inner_one() {
    for build in BUILDS {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Message>();
        let receiver = std::sync::Arc::new(std::sync::Mutex::new(Some(receiver)));
        let hang = Interceptor::validator("v")
            .on("notifications/progress")
            .request()
            .handler(std::future::pending::<bool>);
        let service = stack(
            build,
            SIDES[0],
            chain([hang]),
            tower::service_fn(move |_: Message| {
                let receiver = receiver.lock().unwrap().take();
                async move {
                    let mut receiver = receiver.ok_or("called twice")?;
                    let stream = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
                    let stream = futures::StreamExt::map(stream, Ok::<_, BoxError>);
                    Ok::<_, BoxError>(Reply::many(Events::new(stream)))
                }
            }),
        );
        let Body::Many(mut events) = service.oneshot(call()).await.unwrap().body else {
            panic!("a stream")
        };
        sender.send(notification("notifications/progress")).unwrap();
        let mut next = tokio_test::task::spawn(events.next());
        tokio_test::assert_pending!(next.poll());
        drop(next);
        assert!(!sender.is_closed());
        drop(events);
        assert!(sender.is_closed(), "{build:?}");
    }
}

#[tokio::test]
async fn a_listen_stream_is_intercepted_too() {
    for side in SIDES {
        for build in BUILDS {
            let service = stack(
                build,
                side,
                chain([
                    crate::scripted::deny("notifications/message"),
                    crate::scripted::deny(crate::support::SAMPLING),
                    deny_answer(CALL),
                ]),
                backend(&Log::default(), |message| match message.kind() {
                    mcp_interceptors::message::Kind::Listen => many([
                        notification("notifications/message"),
                        notification("notifications/tools/list_changed"),
                        crate::support::sampling(),
                        // A resumed stream may carry one: whose it is nobody here can say.
                        answer(),
                    ]),
                    _ => Reply::accepted(),
                }),
            );
            let replies = drain(service.oneshot(Message::listen()).await.unwrap()).await;
            assert_eq!(replies, [notification("notifications/tools/list_changed")]);
        }
    }
}
