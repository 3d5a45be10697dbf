use std::sync::{Arc, Mutex};

use serde_json::json;
use tower::{ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

use super::CorrelateLayer;
use crate::{
    BoxError,
    chain::Chain,
    intercept::InterceptorLayer,
    interceptor::Interceptor,
    message::{Exchange, Id, Message, Principal},
    reply::{Body, Events, Reply},
};

type Stack = BoxCloneSyncService<Message, Reply, BoxError>;

/// A backend that asks for a sampling in every stream, and notes the answers it gets.
fn asking(seen: &Arc<Mutex<Vec<String>>>) -> Stack {
    let seen = Arc::clone(seen);
    let service = ServiceBuilder::new()
        .layer(CorrelateLayer::new())
        .service_fn(move |message: Message| {
            let asked = message
                .in_reply_to()
                .map_or("nothing", |asked| asked.method())
                .to_owned();
            if message.method().is_none() && !message.bytes().is_empty() {
                seen.lock()
                    .unwrap()
                    .push(format!("{asked}: {}", message.as_json()));
                return std::future::ready(Ok::<_, BoxError>(Reply::accepted()));
            }
            let ask = Message::bare_request(&Id::from(7), "sampling/createMessage");
            std::future::ready(Ok(Reply::many(Events::new(futures::stream::iter([Ok::<
                _,
                BoxError,
            >(
                ask
            )])))))
        });
    BoxCloneSyncService::new(service)
}

fn in_session(message: Message, session: &str) -> Message {
    message.with_exchange(Arc::new(Exchange::new().with_session(session)))
}

fn answer() -> Message {
    Message::response(&Id::from_json("7.0").unwrap(), &json!({"role": "user"})).unwrap()
}

async fn drain(reply: Reply) {
    if let Body::Many(mut events) = reply.body {
        while events.next().await.is_some() {}
    }
}

/// Case 95: an answer must match a server request that is outstanding, and only the first one counts.
#[tokio::test]
async fn only_the_first_answer_of_the_right_session_gets_through() {
    let seen = Arc::default();
    let stack = asking(&seen);
    let send = |message| stack.clone().oneshot(message);

    send(in_session(answer(), "a")).await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        Vec::<String>::new(),
        "nobody has asked yet"
    );

    drain(send(in_session(Message::listen(), "a")).await.unwrap()).await;
    send(in_session(answer(), "b")).await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        Vec::<String>::new(),
        "another session was asked"
    );

    let stranger = Exchange::new()
        .with_session("a")
        .with_principal(Principal::user("mallory"));
    send(answer().with_exchange(Arc::new(stranger))).await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        Vec::<String>::new(),
        "another principal was asked"
    );

    send(in_session(answer(), "a")).await.unwrap();
    send(in_session(answer(), "a")).await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        [r#"sampling/createMessage: {"jsonrpc":"2.0","id":7.0,"result":{"role":"user"}}"#]
    );
}

#[tokio::test]
async fn a_cancel_raises_the_flag_of_the_call_it_names() {
    let exchanges: Arc<Mutex<Vec<Arc<Exchange>>>> = Arc::default();
    let held = Arc::clone(&exchanges);
    let stack = ServiceBuilder::new()
        .layer(CorrelateLayer::new())
        .service_fn(move |message: Message| {
            let held = Arc::clone(&held);
            async move {
                if message.id().is_some() {
                    held.lock().unwrap().push(Arc::clone(message.exchange()));
                    std::future::pending::<()>().await;
                }
                Ok::<_, BoxError>(Reply::accepted())
            }
        });
    let call = |id: &str, session| {
        let call = Message::bare_request(&Id::from_json(id).unwrap(), "tools/call");
        let mut call = tokio_test::task::spawn(stack.clone().oneshot(in_session(call, session)));
        assert!(call.poll().is_pending());
        call
    };
    let calls = [call("1", "a"), call("\"1\"", "a"), call("1", "b"), call("2", "a")];
    let cancel = Message::notification("notifications/cancelled", &json!({"requestId": 1.0})).unwrap();
    stack
        .clone()
        .oneshot(in_session(cancel.clone(), "a"))
        .await
        .unwrap();
    let raised = |at: usize| exchanges.lock().unwrap()[at].cancellation().is_cancelled();
    assert_eq!(
        [raised(0), raised(1), raised(2), raised(3)],
        [true, false, false, false]
    );

    // What has ended is forgotten: its id can be used again.
    drop(calls);
    let again = call("1", "a");
    assert!(!raised(4));
    stack.clone().oneshot(in_session(cancel, "a")).await.unwrap();
    assert!(raised(4));
    drop(again);
}

/// A response interceptor also sees the answer that comes on a resumed stream (mcp-wire, statement 29).
#[tokio::test]
async fn an_answer_on_a_resumed_stream_is_named_for_the_layers_inside() {
    let redact = Interceptor::mutator("redact")
        .on("tools/call")
        .response()
        .handler(|mut payload: crate::message::Payload| async move {
            payload
                .edit_strings(|_| Some("***".into()))
                .map(|changed| changed.then_some(payload))
        });
    let chain = Chain::builder().interceptor(redact).build().unwrap();
    let stack = ServiceBuilder::new()
        .layer(CorrelateLayer::new())
        .layer(InterceptorLayer::client_side(chain))
        .service_fn(|message: Message| async move {
            let answers = match message.method() {
                // The stream of the call breaks before its answer.
                Some(_) => Vec::new(),
                None => [5, 6]
                    .map(|id| Message::response(&Id::from(id), &json!({"text": "secret"})))
                    .into_iter()
                    .collect(),
            };
            Ok::<_, BoxError>(Reply::many(Events::new(futures::stream::iter(answers))))
        });
    let call = in_session(Message::bare_request(&Id::from(5), "tools/call"), "a");
    drain(stack.clone().oneshot(call).await.unwrap()).await;

    let resumed = stack
        .clone()
        .oneshot(in_session(Message::listen(), "a"))
        .await
        .unwrap();
    let Body::Many(mut events) = resumed.body else {
        panic!("a stream")
    };
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        lines.push(event.unwrap().into_message().unwrap().as_json().to_owned());
    }
    // The answer to 6, which nobody asked, could be anything: it is withheld.
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","id":5,"result":{"text":"***"}}"#]);
}

/// DECISIONS 37: only the first answer to an id counts, on the exchange it belongs to.
#[tokio::test]
async fn a_call_gets_its_own_answer_and_one() {
    let stack = |reply: fn() -> Reply| {
        ServiceBuilder::new()
            .layer(CorrelateLayer::new())
            .service_fn(move |_: Message| std::future::ready(Ok::<_, BoxError>(reply())))
    };
    let call = || Message::bare_request(&Id::from(1), "tools/call");
    let streaming = stack(|| {
        let answers = [
            r#"{"jsonrpc":"2.0","id":"1","result":"another's"}"#,
            r#"{"jsonrpc":"2.0","method":"n"}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"result":"first"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":"second"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"third"}}"#,
        ];
        let answers = answers.map(|json| Ok::<_, BoxError>(Message::parse(json.to_owned()).unwrap()));
        Reply::many(Events::new(futures::stream::iter(answers)))
    });
    let Body::Many(mut events) = streaming.clone().oneshot(call()).await.unwrap().body else {
        panic!("not a stream");
    };
    let mut got = Vec::new();
    while let Some(event) = events.next().await {
        got.push(event.unwrap().message().unwrap().as_json().to_owned());
    }
    assert_eq!(
        got,
        [
            r#"{"jsonrpc":"2.0","method":"n"}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"result":"first"}"#
        ]
    );
    // Whoever listens may be resuming: there all answers pass.
    let Body::Many(mut events) = streaming.oneshot(Message::listen()).await.unwrap().body else {
        panic!("not a stream");
    };
    let mut count = 0;
    while let Some(event) = events.next().await {
        count += usize::from(event.is_ok());
    }
    assert_eq!(count, 5);

    let wrong = stack(|| Reply::one(Message::response(&Id::from(2), &json!({})).unwrap()));
    let error = wrong.oneshot(call()).await.unwrap_err();
    assert!(error.to_string().contains("another request"), "{error}");
    // An error may leave the id out.
    let unnamed = stack(|| {
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#;
        Reply::one(Message::parse(error.to_owned()).unwrap())
    });
    assert!(unnamed.oneshot(call()).await.is_ok());
}
