//! Messages that came over HTTP.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::StreamExt;
use http::{Method, StatusCode};
use http_body_util::Full;
use tower::ServiceExt;

use super::{kind, many, message, next, one, status};
use crate::{
    http::{
        HttpBackend,
        testing::{TestBody, answer, backend, broken, endless, events, json, whole},
    },
    message::{Exchange, HttpContext, Id, Message},
    proxy::BackendErrorKind,
    reply::Body,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;

fn relayed(message: Message, request: http::request::Builder) -> Message {
    let (parts, ()) = request.body(()).unwrap().into_parts();
    message.with_exchange(Arc::new(Exchange::new().with_http(HttpContext::new(parts))))
}

fn post(json: &str) -> Message {
    relayed(message(json), http::Request::post("/mcp"))
}

#[tokio::test]
async fn end_to_end_headers_go_on_as_they_came() {
    let (backend, asked) = backend([json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)]);
    let request = http::Request::post("http://proxy:8080/other?token=mine")
        .header("host", "proxy:8080")
        .header("content-length", "999")
        .header("connection", "keep-alive, x-hop")
        .header("x-hop", "1")
        .header("accept", "application/json")
        .header("accept-encoding", "gzip")
        .header("content-type", "application/json; charset=utf-8")
        .header("authorization", "Bearer t")
        .header("mcp-session-id", "s")
        .header("mcp-param-region", "eu")
        .header("x-two", "a")
        .header("x-two", "b");
    let reply = backend.oneshot(relayed(message(CALL), request)).await.unwrap();
    assert_eq!(one(reply).as_json(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let request = asked.last();
    assert_eq!(request.uri(), "http://backend.test/mcp?key=1");
    assert_eq!(request.body(), CALL);
    let headers: Vec<_> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    let expected = [
        "accept: application/json",
        "accept-encoding: identity",
        "content-type: application/json; charset=utf-8",
        "authorization: Bearer t",
        "mcp-session-id: s",
        "mcp-param-region: eu",
        "x-two: a",
        "x-two: b",
    ];
    let mut sorted = headers.clone();
    sorted.sort();
    let mut wanted = expected.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted);
    let two: Vec<_> = headers
        .iter()
        .filter(|header| header.starts_with("x-two"))
        .collect();
    assert_eq!(two, ["x-two: a", "x-two: b"]);
}

#[tokio::test]
async fn each_kind_has_its_method() {
    let (backend, asked) = backend([
        events(whole(&[])),
        answer(204, &[], whole(&[])),
        answer(202, &[], whole(&[])),
    ]);
    let listen = relayed(
        Message::listen(),
        http::Request::get("/").header("last-event-id", "7"),
    );
    let reply = backend.clone().oneshot(listen.clone()).await.unwrap();
    assert!(many(reply).next().await.is_none());
    assert_eq!(asked.last().method(), Method::GET);
    assert_eq!(asked.header("last-event-id").unwrap(), "7");
    assert_eq!(asked.header("accept").unwrap(), "text/event-stream");

    let end = relayed(Message::end(), http::Request::delete("/"));
    let reply = backend.clone().oneshot(end).await.unwrap();
    assert_eq!(asked.last().method(), Method::DELETE);
    assert_eq!(status(&reply), StatusCode::NO_CONTENT);

    // A layer answers the server in the exchange of a GET.
    let response = Message::response(&Id::from(1), &1).unwrap();
    let response = response.with_exchange(Arc::clone(listen.exchange()));
    backend.oneshot(response).await.unwrap();
    assert_eq!(asked.last().method(), Method::POST);
    assert_eq!(asked.header("last-event-id"), None);
    assert_eq!(asked.header("content-type").unwrap(), "application/json");
    assert_eq!(
        asked.header("accept").unwrap(),
        "application/json, text/event-stream"
    );
}

/// Cases 14 and 16.
#[tokio::test]
async fn any_2xx_takes_a_notification() {
    for code in [200, 202, 204] {
        let (backend, asked) = backend([answer(
            code,
            &[("content-type", "application/json"), ("x-a", "b")],
            whole(&["{}"]),
        )]);
        let notification = post(r#"{"jsonrpc":"2.0","method":"notifications/acme"}"#);
        let reply = backend.oneshot(notification).await.unwrap();
        assert!(matches!(reply.body, Body::Accepted));
        assert_eq!(status(&reply), StatusCode::ACCEPTED);
        assert_eq!(reply.head().unwrap().headers["x-a"], "b");
        assert_eq!(
            asked.last().body(),
            r#"{"jsonrpc":"2.0","method":"notifications/acme"}"#
        );
    }
}

/// Cases 10 and 44.
#[tokio::test]
async fn errors_come_back_byte_for_byte() {
    let error = r#"{ "jsonrpc":"2.0","id":18446744073709551615,"error":{"code":-32042,"message":"m","data":{"k":1},"x":1}}"#;
    for code in [200, 400, 404, 500] {
        let headers = [("content-type", "application/json")];
        let (backend, _) = backend([answer(code, &headers, whole(&[error]))]);
        let reply = backend.oneshot(post(CALL)).await.unwrap();
        assert_eq!(status(&reply).as_u16(), code);
        let message = one(reply);
        assert_eq!(message.as_json(), error);
        assert!(message.exchange().http().is_some());
    }
}

/// Cases 45 and 88.
#[tokio::test]
async fn answers_that_are_no_json_rpc_pass_unless_5xx() {
    for (code, media, body) in [
        (429, "text/plain", "slow down"),
        (401, "application/json", r#"{"error":"invalid_token"}"#),
        (403, "text/html", "<html>"),
        (307, "text/plain", ""),
        (200, "text/html", "<html>"),
    ] {
        let headers = [
            ("content-type", media),
            ("retry-after", "7"),
            ("location", "http://elsewhere.test/"),
        ];
        let (backend, asked) = backend([answer(code, &headers, whole(&[body]))]);
        let reply = backend.oneshot(post(CALL)).await.unwrap();
        assert_eq!(status(&reply).as_u16(), code);
        assert_eq!(reply.head().unwrap().headers["retry-after"], "7");
        let Body::Opaque(opaque) = reply.body else {
            panic!("{code}")
        };
        let chunks: Vec<Bytes> = opaque.into_stream().map(Result::unwrap).collect().await;
        assert_eq!(chunks.concat(), body.as_bytes());
        // Case 89: no redirect is followed.
        assert_eq!(asked.len(), 1);
    }
    for (media, body) in [("text/html", "<html>"), ("application/json", r#"{"error":"x"}"#)] {
        let (backend, _) = backend([answer(503, &[("content-type", media)], whole(&[body]))]);
        let error = backend.oneshot(post(CALL)).await.unwrap_err();
        assert_eq!(kind(&error), BackendErrorKind::Unavailable);
        assert!(error.to_string().contains("503"));
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_garbage() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(1000));
    let halves = long.split_at(500);
    for answer in [
        json("{oops"),
        json(""),
        json("[]"),
        json(&long),
        answer(
            200,
            &[("content-type", "application/json")],
            whole(&[halves.0, halves.1]),
        ),
    ] {
        let (backend, _) = backend([answer]);
        let error = backend.oneshot(post(CALL)).await.unwrap_err();
        assert_eq!(kind(&error), BackendErrorKind::Garbage, "{error}");
    }
}

#[tokio::test]
async fn an_encoded_body_is_not_parsed() {
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let (backend, _) = backend([answer(200, &headers, whole(&["\u{1f}"]))]);
    let reply = backend.oneshot(post(CALL)).await.unwrap();
    assert!(matches!(reply.body, Body::Opaque(_)));
}

#[tokio::test]
async fn a_backend_that_is_gone_is_unavailable() {
    let (gone, _) = backend([]);
    let error = gone.oneshot(post(CALL)).await.unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Unavailable);
    let headers = [("content-type", "application/json")];
    let (dies, _) = backend([answer(200, &headers, broken(&[r#"{"json"#]))]);
    let error = dies.oneshot(post(CALL)).await.unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Unavailable);
    let (cuts, _) = backend([events(broken(&[
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n",
    ]))]);
    let mut stream = many(cuts.oneshot(post(CALL)).await.unwrap());
    next(&mut stream).await;
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Unavailable);
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_is_too_slow_times_out() {
    let silent = tower::service_fn(|_: http::Request<Full<Bytes>>| {
        std::future::pending::<Result<http::Response<TestBody>, std::io::Error>>()
    });
    let builder = || HttpBackend::builder("http://backend.test/").response_timeout(Duration::from_secs(5));
    let error = builder()
        .build_with(silent)
        .unwrap()
        .oneshot(post(CALL))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Timeout);
    let headers = [("content-type", "application/json")];
    let (client, _) = crate::http::testing::client([answer(200, &headers, endless(&["{"]))]);
    let backend = builder().build_with(client).unwrap();
    let error = backend.oneshot(post(CALL)).await.unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Timeout);
}

/// Cases 47, 49 and 51.
#[tokio::test]
async fn events_keep_their_text() {
    let chunks = [
        "\u{feff}: hi\r\n\r\nid: 5\ndata:\n\nretry: 9\r\n\r\nevent: mess",
        "age\r\nid: 6\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"m\"}\r\nx: y\r\n\r",
        "\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n",
    ];
    let (backend, _) = backend([events(whole(&chunks))]);
    let mut stream = many(backend.oneshot(post(CALL)).await.unwrap());
    let mut text = Vec::new();
    let mut messages = Vec::new();
    while let Some(event) = stream.next().await {
        let event = event.unwrap();
        text.extend_from_slice(&event.to_sse());
        messages.extend(event.into_message());
    }
    assert_eq!(
        String::from_utf8(text).unwrap(),
        chunks.concat().trim_start_matches('\u{feff}')
    );
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0].method(), Some("m"));
    assert!(messages[1].exchange().http().is_some());
}

/// Cases 53 and 54.
#[tokio::test]
async fn an_event_that_cannot_be_read_ends_the_stream() {
    let good = "data: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n";
    let endless_data = format!("data: {}", "x".repeat(2000));
    for bad in [
        "data: {oops\n\n",
        "event: ping\ndata: now\n\n",
        "event: endpoint\ndata: /messages\n\n",
        &endless_data,
    ] {
        let (backend, _) = backend([events(endless(&[good, bad, good]))]);
        let mut stream = many(backend.oneshot(post(CALL)).await.unwrap());
        next(&mut stream).await;
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(kind(&error), BackendErrorKind::Garbage);
        assert!(stream.next().await.is_none());
    }
}

/// A client may not be left waiting by a stream that ends, unless it knows how to go on; nor may it get a second
/// answer when one breaks off.
#[tokio::test]
async fn a_stream_ends_with_an_answer_or_says_so() {
    const ANSWER: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    const NOTE: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
    const WITH_ID: &str = "id: 5\ndata:\n\n";
    let modern = r#"{"jsonrpc":"2.0","id":1,"method":"METHOD","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let (call, listen) = (
        modern.replace("METHOD", "tools/call"),
        modern.replace("METHOD", "subscriptions/listen"),
    );
    let unavailable = Some(BackendErrorKind::Unavailable);
    for (request, body, end) in [
        (CALL, whole(&[ANSWER]), None),
        (CALL, broken(&[ANSWER]), None),
        (CALL, whole(&[]), unavailable),
        (CALL, whole(&[NOTE]), unavailable),
        (CALL, broken(&[NOTE]), unavailable),
        (CALL, whole(&[WITH_ID, NOTE]), None),
        (CALL, broken(&[WITH_ID, NOTE]), None),
        // An empty id takes the last one back.
        (CALL, whole(&[WITH_ID, "id:\ndata:\n\n"]), unavailable),
        (
            CALL,
            whole(&[WITH_ID, "data: {\n\n"]),
            Some(BackendErrorKind::Garbage),
        ),
        (CALL, whole(&[ANSWER, "data: {\n\n"]), None),
        (&call, whole(&[WITH_ID, NOTE]), unavailable),
        (&listen, whole(&[NOTE]), None),
    ] {
        let (backend, _) = backend([events(body)]);
        let mut events = many(backend.oneshot(post(request)).await.unwrap());
        let mut ends = Vec::new();
        while let Some(event) = events.next().await {
            ends.extend(event.err().map(|error| kind(&error)));
        }
        assert_eq!(ends, Vec::from_iter(end), "{request}");
    }
}
