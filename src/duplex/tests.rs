//! The client's end, in memory and over a link.

use std::sync::{Arc, Mutex};

use futures::{FutureExt, future::BoxFuture, stream};
use serde_json::json;

use super::*;
use crate::{
    BoxError,
    message::{Id, Kind, Message},
    reply::{Events, Reply},
};

/// Asks the client in the middle of every call, and answers with what it was told.
fn asking() -> impl crate::McpService {
    let answers = Arc::new(Mutex::new(None::<tokio::sync::oneshot::Sender<String>>));
    tower::service_fn(
        move |message: Message| -> BoxFuture<'static, Result<Reply, BoxError>> {
            let answers = Arc::clone(&answers);
            async move {
                match message.kind() {
                    Kind::Request => {
                        let (told, answer) = tokio::sync::oneshot::channel();
                        *answers.lock().unwrap() = Some(told);
                        let question = Message::bare_request(&Id::from(1), "roots/list");
                        let result = async move {
                            let told = answer.await?;
                            message.answer(Ok(&json!({"told": told}))).map_err(BoxError::from)
                        };
                        let events = stream::iter([Ok::<_, BoxError>(question)]);
                        Ok(Reply::many(Events::new(futures::StreamExt::chain(
                            events,
                            stream::once(result),
                        ))))
                    }
                    Kind::Response => {
                        if let Some(told) = answers.lock().unwrap().take() {
                            let _ = told.send(message.payload().as_json().into());
                        }
                        Ok(Reply::accepted())
                    }
                    Kind::Notification | Kind::Error | Kind::Listen | Kind::End => Ok(Reply::accepted()),
                }
            }
            .boxed()
        },
    )
}

async fn converse<S: crate::McpService>(mut client: Client<S>) {
    client.send(Message::parse(r#"{"jsonrpc":"2.0","id":1.0,"method":"a"}"#).unwrap());
    let question = client.next().await;
    assert_eq!(
        question.as_json(),
        r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#
    );
    client.send(question.answer(Ok(&json!(["/"]))).unwrap());
    let answer = client.next().await;
    assert_eq!(
        answer.as_json(),
        r#"{"jsonrpc":"2.0","id":1.0,"result":{"told":"[\"/\"]"}}"#
    );
    client.end().await;
}

#[test]
fn a_client_answers_the_server_in_the_middle_of_a_call() {
    // Without a runtime: nothing here needs one.
    let mut conversation = tokio_test::task::spawn(converse(connect(asking())));
    while conversation.poll().is_pending() {
        assert!(conversation.is_woken(), "it waits for nothing outside");
    }
}

/// The whole way: client, link, front, server, and back.
#[cfg(feature = "stdio")]
#[tokio::test(start_paused = true)]
async fn the_same_over_a_link() {
    converse(connect(link(asking()))).await;
}

/// Links in a row: each mints its own ids, and the client still gets its own.
#[cfg(feature = "stdio")]
#[tokio::test(start_paused = true)]
async fn the_same_over_links_in_a_row() {
    converse(connect(link(link(link(asking()))))).await;
}

#[tokio::test]
async fn what_comes_between_stays_for_later() {
    let mut client = connect(tower::service_fn(|message: Message| async move {
        let note = Message::notification("n", &json!({}))?;
        let answer = message.answer(Ok(&json!({})));
        Ok::<_, BoxError>(match answer {
            Ok(answer) => Reply::many(Events::new(stream::iter([Ok::<_, BoxError>(note), Ok(answer)]))),
            Err(_) => Reply::accepted(),
        })
    }));
    let answer = client.call(Message::bare_request(&Id::from("x"), "a")).await;
    assert_eq!(answer.id(), Some(Id::from("x")));
    assert_eq!(client.next().await.method(), Some("n"));
    client.settle().await;
}

#[test]
fn one_request_too_many_is_refused() {
    let mut client = connect(tower::service_fn(|_: Message| {
        std::future::pending::<Result<Reply, BoxError>>()
    }));
    for _ in 0..1_000 {
        client.send(Message::bare_request(&Id::from(1), "a"));
    }
    client.send(Message::bare_request(&Id::from(2), "a"));
    let refusal = client.next().now_or_never().expect("an error at once");
    assert_eq!((refusal.kind(), refusal.id()), (Kind::Error, Some(Id::from(2))));
}
