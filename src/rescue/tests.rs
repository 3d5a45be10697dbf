use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use tower::{ServiceBuilder, ServiceExt};

use super::RescueLayer;
use crate::{
    BoxError,
    message::{Exchange, HttpContext, Id, Message},
    proxy::BackendError,
    reply::{Body, Events, Head, Opaque, Reply},
};

fn request() -> Message {
    Message::bare_request(&Id::from_json("1.0").unwrap(), "tools/list")
}

fn over_http(message: Message) -> Message {
    message.with_exchange(Arc::new(Exchange::new().with_http(HttpContext::default())))
}

async fn rescued<F>(message: Message, inner: F) -> Reply
where
    F: Fn() -> Result<Reply, BoxError> + Clone + Send + Sync + 'static,
{
    let service = ServiceBuilder::new()
        .layer(RescueLayer::new())
        .service_fn(move |_: Message| std::future::ready(inner()));
    service.oneshot(message).await.unwrap()
}

async fn lines(reply: Reply) -> Vec<String> {
    match reply.body {
        Body::Accepted => Vec::new(),
        Body::One(message) => vec![message.as_json().to_owned()],
        Body::Opaque(_) => vec!["opaque".into()],
        Body::Many(mut events) => {
            let mut lines = Vec::new();
            while let Some(event) = events.next().await {
                lines.push(event.unwrap().message().unwrap().as_json().to_owned());
            }
            lines
        }
    }
}

fn error(text: &str, kind: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1.0,"error":{{"code":-32603,"message":"{text}","data":{{"kind":"{kind}"}}}}}}"#
    )
}

#[tokio::test]
async fn each_cause_has_its_status_and_kind() {
    type Make = fn() -> BoxError;
    let causes: [(Make, u16, &str, &str); 6] = [
        (
            || BackendError::unavailable("it is down").into(),
            502,
            "it is down",
            "backend_unavailable",
        ),
        (
            || BackendError::garbage("not JSON").into(),
            502,
            "not JSON",
            "backend_unavailable",
        ),
        (
            || BackendError::timeout("too slow").into(),
            504,
            "too slow",
            "backend_timeout",
        ),
        (
            || Box::new(tower::timeout::error::Elapsed::new()),
            504,
            "the request took too long",
            "backend_timeout",
        ),
        (
            || Box::new(tower::load_shed::error::Overloaded::new()),
            503,
            "the service is overloaded",
            "overloaded",
        ),
        // The text of what is not known may hold anything: it is not shown.
        (|| "password=1".into(), 500, "internal error", "internal"),
    ];
    for (make, status, text, kind) in causes {
        let reply = rescued(request(), move || Err(make())).await;
        assert_eq!(
            reply.head().unwrap().status,
            StatusCode::from_u16(status).unwrap()
        );
        assert_eq!(lines(reply).await, [error(text, kind)]);
    }
}

#[tokio::test]
async fn a_cause_is_found_behind_others() {
    #[derive(Debug)]
    struct Wrapped(BoxError);
    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("wrapped")
        }
    }
    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&*self.0)
        }
    }
    let reply = rescued(request(), || {
        Err(Box::new(Wrapped(BackendError::timeout("too slow").into())))
    })
    .await;
    assert_eq!(lines(reply).await, [error("too slow", "backend_timeout")]);
}

#[tokio::test]
async fn a_failed_notification_has_no_answer_but_a_status() {
    let notification = || Message::notification("notifications/x", &serde_json::json!({})).unwrap();
    let fail = || Err(BackendError::unavailable("down").into());
    assert_eq!(
        lines(rescued(notification(), fail).await).await,
        Vec::<String>::new()
    );
    let reply = rescued(over_http(notification()), fail).await;
    assert_eq!(reply.head().unwrap().status, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn an_error_in_a_stream_is_its_last_event() {
    let progress = || Message::notification("notifications/progress", &serde_json::json!({})).unwrap();
    let broken = move || {
        let items = [
            Ok(progress()),
            Err(BoxError::from(BackendError::unavailable("gone"))),
            Ok(progress()),
        ];
        Ok(Reply::many(Events::new(futures::stream::iter(items))))
    };
    let expected = [
        progress().as_json().to_owned(),
        error("gone", "backend_unavailable"),
    ];
    assert_eq!(lines(rescued(request(), broken).await).await, expected);
    assert_eq!(lines(rescued(over_http(request()), broken).await).await, expected);
    // A stream that answers nobody just ends.
    assert_eq!(
        lines(rescued(Message::listen(), broken).await).await,
        expected[..1]
    );
}

#[tokio::test]
async fn a_broken_stream_that_has_answered_gets_no_second_answer() {
    let answer = || Message::response(&Id::from(1), &serde_json::json!({})).unwrap();
    let broken = move || {
        let items = [Ok(answer()), Err(BoxError::from("late"))];
        Ok(Reply::many(Events::new(futures::stream::iter(items))))
    };
    assert_eq!(
        lines(rescued(request(), broken).await).await,
        [answer().as_json()]
    );
}

/// A legacy HTTP client resumes a stream that ends early; nobody else can.
#[tokio::test]
async fn a_stream_without_an_answer_is_an_error_except_over_http() {
    let empty = || {
        Ok(Reply::many(Events::new(futures::stream::iter(Vec::<
            Result<Message, BoxError>,
        >::new()))))
    };
    let text = "the server ended the stream without an answer";
    assert_eq!(
        lines(rescued(request(), empty).await).await,
        [error(text, "backend_unavailable")]
    );
    assert_eq!(
        lines(rescued(over_http(request()), empty).await).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn what_is_no_json_rpc_is_relayed_over_http_and_an_error_elsewhere() {
    let page = || {
        let body = Opaque::from(Bytes::from_static(b"<html>"));
        Ok(Reply::opaque(body).with_head(Head::new(StatusCode::UNAUTHORIZED)))
    };
    let text = "the server answered with HTTP status 401 Unauthorized and no JSON-RPC";
    assert_eq!(
        lines(rescued(request(), page).await).await,
        [error(text, "backend_unavailable")]
    );
    assert_eq!(lines(rescued(over_http(request()), page).await).await, ["opaque"]);
}
