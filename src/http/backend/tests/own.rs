//! Messages that did not come over HTTP: the backend is the client.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use tokio_test::{assert_pending, assert_ready, task};
use tower::ServiceExt;

use super::{kind, many, message, next, one};
use crate::{
    http::HttpBackend,
    http::testing::{answer, backend, broken, endless, events, json, whole},
    message::{Connection, Exchange, Message},
    proxy::BackendErrorKind,
    reply::Body,
};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é"}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
const NOTE: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n";
const DONE_JSON: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const DONE: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";

/// The messages of one connection.
#[derive(Default)]
struct Client(Arc<Connection>);

impl Client {
    fn says(&self, message: Message) -> Message {
        let exchange = Exchange::new().with_connection(Arc::clone(&self.0));
        message.with_exchange(Arc::new(exchange))
    }

    fn sends(&self, json: &str) -> Message {
        self.says(message(json))
    }
}

fn initialized() -> http::Response<crate::http::testing::TestBody> {
    let headers = [("content-type", "application/json"), ("mcp-session-id", "s1")];
    answer(200, &headers, whole(&[ANSWER]))
}

fn accepted() -> http::Response<crate::http::testing::TestBody> {
    answer(202, &[], whole(&[]))
}

/// Case 68, and rows 10, 21 and 24 of the wire notes.
#[tokio::test]
async fn session_and_negotiated_version_are_kept() {
    let stream = answer(
        200,
        &[("content-type", "text/event-stream"), ("mcp-session-id", "s1")],
        whole(&[&format!("id: 1\ndata:\n\ndata: {ANSWER}\n\n")]),
    );
    for first in [initialized(), stream] {
        let (backend, asked) = backend([first, accepted(), json("{}"), accepted()]);
        let client = Client::default();
        let reply = backend.clone().oneshot(client.sends(INITIALIZE)).await.unwrap();
        let reply = reply.into_one(|_| {}).await.unwrap().unwrap();
        assert_eq!(reply.as_json(), ANSWER);
        assert_eq!(
            asked.header("accept").unwrap(),
            "application/json, text/event-stream"
        );
        assert_eq!(asked.header("content-type").unwrap(), "application/json");
        assert_eq!(asked.header("mcp-session-id"), None);
        assert_eq!(asked.header("mcp-protocol-version"), None);

        backend.clone().oneshot(client.sends(INITIALIZED)).await.unwrap();
        assert_eq!(asked.header("mcp-session-id").unwrap(), "s1");
        assert_eq!(asked.header("mcp-protocol-version").unwrap(), "2025-06-18");
        assert_eq!(asked.header("mcp-method"), None);

        // Another connection has another session.
        let _ = backend.clone().oneshot(Client::default().sends(CALL)).await;
        assert_eq!(asked.header("mcp-session-id"), None);

        let reply = backend
            .clone()
            .oneshot(client.says(Message::end()))
            .await
            .unwrap();
        assert!(matches!(reply.body, Body::Accepted));
        assert_eq!(asked.last().method(), Method::DELETE);
        assert_eq!(asked.header("mcp-session-id").unwrap(), "s1");
        let count = asked.len();
        backend.oneshot(client.says(Message::end())).await.unwrap();
        assert_eq!(asked.len(), count);
    }
}

/// Case 78 and row 4 of the wire notes: whoever waits behind a pipe knows an answer by its id.
#[tokio::test]
async fn an_error_without_an_id_answers_the_request() {
    let error =
        r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found","x":1.0},"id":null}"#;
    let headers = [("content-type", "application/json")];
    let (backend, _) = backend([answer(404, &headers, whole(&[error]))]);
    let reply = backend.oneshot(Client::default().sends(CALL)).await.unwrap();
    assert_eq!(super::status(&reply), 404);
    assert_eq!(
        one(reply).as_json(),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found","x":1.0}}"#
    );
}

#[tokio::test]
async fn modern_requests_carry_their_own_version_and_routing() {
    let (backend, asked) = backend([
        json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        json(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
        accepted(),
    ]);
    let client = Client::default();
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"é",{meta}}}}}"#);
    one(backend.clone().oneshot(client.sends(&call)).await.unwrap());
    assert_eq!(asked.header("mcp-protocol-version").unwrap(), "2026-07-28");
    assert_eq!(asked.header("mcp-method").unwrap(), "tools/call");
    assert_eq!(asked.header("mcp-name").unwrap(), "=?base64?w6k=?=");
    assert_eq!(asked.header("mcp-session-id"), None);
    let read =
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{{"taskId":"t1",{meta}}}}}"#);
    one(backend.clone().oneshot(client.sends(&read)).await.unwrap());
    assert_eq!(asked.header("mcp-name").unwrap(), "t1");
    // To cancel is to close the exchange; other notifications go with the version known.
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let count = asked.len();
    backend.clone().oneshot(client.sends(cancelled)).await.unwrap();
    assert_eq!(asked.len(), count);
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/acme"}"#;
    backend.oneshot(client.sends(notification)).await.unwrap();
    assert_eq!(asked.header("mcp-protocol-version").unwrap(), "2026-07-28");
    assert_eq!(asked.header("mcp-method").unwrap(), "notifications/acme");
}

/// Row 50 of the wire notes.
#[tokio::test]
async fn a_cancelled_modern_call_is_closed() {
    let (backend, _) = backend([events(endless(&[NOTE]))]);
    let client = Client::default();
    let call = client.sends(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    );
    let exchange = Arc::clone(call.exchange());
    let mut stream = many(backend.oneshot(call).await.unwrap());
    next(&mut stream).await;
    exchange.cancellation().cancel();
    assert!(stream.next().await.is_none());
}

/// Case 56: an answer whose stream broke is taken up where it stood.
#[tokio::test(start_paused = true)]
async fn a_broken_answer_is_resumed() {
    let first = format!("retry: 5000\nid: 7\ndata:\n\nid: 8\n{NOTE}");
    let (backend, asked) = backend([
        initialized(),
        accepted(),
        events(broken(&[&first])),
        events(whole(&["id: 9\ndata:\n\n"])),
        events(whole(&[DONE])),
    ]);
    let client = Client::default();
    for json in [INITIALIZE, INITIALIZED] {
        backend.clone().oneshot(client.sends(json)).await.unwrap();
    }
    let start = tokio::time::Instant::now();
    let reply = backend.oneshot(client.sends(CALL)).await.unwrap();
    let mut seen = 0;
    let answer = reply.into_one(|_| seen += 1).await.unwrap().unwrap();
    assert_eq!(answer.as_json(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(seen, 3);
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(asked.last().method(), Method::GET);
    assert_eq!(asked.last().body(), &Bytes::new());
    assert_eq!(asked.header("last-event-id").unwrap(), "9");
    assert_eq!(asked.header("mcp-session-id").unwrap(), "s1");
    assert_eq!(asked.header("accept").unwrap(), "text/event-stream");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_resumed_is_an_error() {
    // Without ids there is nothing to resume.
    let (plain, asked) = backend([events(whole(&[NOTE]))]);
    let mut stream = many(plain.oneshot(Client::default().sends(CALL)).await.unwrap());
    next(&mut stream).await;
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Unavailable);
    assert!(stream.next().await.is_none());
    assert_eq!(asked.len(), 1);
    // A backend that is gone is asked a few times.
    let (gone, asked) = backend([events(whole(&["id: 1\ndata:\n\n"]))]);
    let mut stream = many(gone.oneshot(Client::default().sends(CALL)).await.unwrap());
    next(&mut stream).await;
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(kind(&error), BackendErrorKind::Unavailable);
    assert_eq!(asked.len(), 5);
}

/// Cases 58 and 97.
#[tokio::test(start_paused = true)]
async fn listening_begins_with_the_session_and_comes_back() {
    let (backend, asked) = backend([
        initialized(),
        accepted(),
        events(whole(&[&format!("id: 3\n{NOTE}")])),
        events(endless(&[NOTE])),
    ]);
    let client = Client::default();
    let listen = backend.clone().oneshot(client.says(Message::listen()));
    let mut stream = many(listen.await.unwrap());
    {
        let mut waiting = task::spawn(stream.next());
        assert_pending!(waiting.poll());
    }
    backend.clone().oneshot(client.sends(INITIALIZE)).await.unwrap();
    {
        let mut waiting = task::spawn(stream.next());
        assert_pending!(waiting.poll());
        backend.clone().oneshot(client.sends(INITIALIZED)).await.unwrap();
        assert!(waiting.is_woken());
        assert!(assert_ready!(waiting.poll()).unwrap().is_ok());
    }
    assert_eq!(asked.last().method(), Method::GET);
    assert_eq!(asked.header("mcp-session-id").unwrap(), "s1");
    assert_eq!(asked.header("mcp-protocol-version").unwrap(), "2025-06-18");
    let start = tokio::time::Instant::now();
    next(&mut stream).await;
    assert_eq!(start.elapsed().as_secs(), 1);
    assert_eq!(asked.header("last-event-id").unwrap(), "3");
}

/// Case 58: that a backend has no such stream is no failure.
#[tokio::test(start_paused = true)]
async fn a_refused_get_leaves_the_stream_idle_until_the_next_session() {
    let (backend, asked) = backend([
        initialized(),
        accepted(),
        answer(405, &[], whole(&[])),
        initialized(),
        accepted(),
        events(endless(&[NOTE])),
    ]);
    let client = Client::default();
    let listen = backend.clone().oneshot(client.says(Message::listen()));
    let mut stream = many(listen.await.unwrap());
    for json in [INITIALIZE, INITIALIZED] {
        backend.clone().oneshot(client.sends(json)).await.unwrap();
    }
    let mut waiting = task::spawn(stream.next());
    assert_pending!(waiting.poll());
    assert_eq!(asked.len(), 3);
    tokio::time::advance(std::time::Duration::from_secs(3600)).await;
    assert_pending!(waiting.poll());
    assert_eq!(asked.len(), 3);
    for json in [INITIALIZE, INITIALIZED] {
        backend.clone().oneshot(client.sends(json)).await.unwrap();
    }
    assert!(assert_ready!(waiting.poll()).unwrap().is_ok());
}

/// A stream of an earlier session says nothing in the next one.
#[tokio::test(start_paused = true)]
async fn a_new_session_takes_the_place_of_the_old_one() {
    let second = answer(
        200,
        &[("content-type", "application/json"), ("mcp-session-id", "s2")],
        whole(&[ANSWER]),
    );
    let (backend, asked) = backend([
        initialized(),
        accepted(),
        events(endless(&[&format!("id: 3\n{NOTE}")])),
        second,
        accepted(),
        events(endless(&[NOTE])),
    ]);
    let client = Client::default();
    let listen = backend.clone().oneshot(client.says(Message::listen()));
    let mut stream = many(listen.await.unwrap());
    for session in ["s1", "s2"] {
        for json in [INITIALIZE, INITIALIZED] {
            backend.clone().oneshot(client.sends(json)).await.unwrap();
        }
        let mut waiting = task::spawn(stream.next());
        assert!(assert_ready!(waiting.poll()).unwrap().is_ok());
        drop(waiting);
        assert_eq!(asked.header("mcp-session-id").unwrap(), session);
        assert_eq!(asked.header("last-event-id"), None);
    }
    assert_eq!(asked.len(), 6);
}

/// What a backend says unasked before the stream is open is lost, and a client over a pipe cannot see that it is
/// not open yet. So its messages wait, but not for good.
#[tokio::test(start_paused = true)]
async fn messages_wait_for_the_get_stream_of_their_session() {
    let script = || {
        [
            initialized(),
            accepted(),
            events(endless(&[NOTE])),
            json(DONE_JSON),
        ]
    };
    let (backend, asked) = backend(script());
    let client = Client::default();
    let listen = backend.clone().oneshot(client.says(Message::listen()));
    let mut stream = many(listen.await.unwrap());
    for json in [INITIALIZE, INITIALIZED] {
        backend.clone().oneshot(client.sends(json)).await.unwrap();
    }
    let mut call = task::spawn(backend.clone().oneshot(client.sends(CALL)));
    assert_pending!(call.poll());
    assert_eq!(asked.len(), 2);
    next(&mut stream).await;
    assert_eq!(asked.last().method(), Method::GET);
    assert!(call.is_woken());
    assert!(assert_ready!(call.poll()).is_ok());
    assert_eq!(asked.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn messages_do_not_wait_for_a_stream_that_does_not_open() {
    let (backend, asked) = backend([initialized(), accepted(), json(DONE_JSON), json(DONE_JSON)]);
    let client = Client::default();
    let listen = backend.clone().oneshot(client.says(Message::listen()));
    let stream = many(listen.await.unwrap());
    for json in [INITIALIZE, INITIALIZED] {
        backend.clone().oneshot(client.sends(json)).await.unwrap();
    }
    let start = tokio::time::Instant::now();
    one(backend.clone().oneshot(client.sends(CALL)).await.unwrap());
    assert_eq!(start.elapsed().as_secs(), 1);
    // Nobody listens any more: there is nothing to wait for.
    drop(stream);
    one(backend.clone().oneshot(client.sends(CALL)).await.unwrap());
    assert_eq!(start.elapsed().as_secs(), 1);
    assert_eq!(asked.len(), 4);
}

/// A client over a pipe says one thing after the other; the second must not overtake the first on its way.
#[tokio::test(start_paused = true)]
async fn messages_wait_until_the_backend_has_been_greeted() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (held, noted) = (Arc::clone(&gate), Arc::clone(&seen));
    let slow = tower::service_fn(move |request: http::Request<http_body_util::Full<Bytes>>| {
        let (gate, seen) = (Arc::clone(&held), Arc::clone(&noted));
        async move {
            use http_body_util::BodyExt;
            let body = request.into_body().collect().await?.to_bytes();
            seen.lock().unwrap().push(body.clone());
            Ok::<_, crate::BoxError>(match &body[..] {
                body if body == INITIALIZE.as_bytes() => initialized(),
                body if body == INITIALIZED.as_bytes() => {
                    gate.acquire().await?.forget();
                    accepted()
                }
                _ => json(DONE_JSON),
            })
        }
    });
    let backend = HttpBackend::builder("http://backend.test/mcp")
        .build_with(slow)
        .unwrap();
    let client = Client::default();
    backend.clone().oneshot(client.sends(INITIALIZE)).await.unwrap();
    let mut greeting = task::spawn(backend.clone().oneshot(client.sends(INITIALIZED)));
    let mut call = task::spawn(backend.clone().oneshot(client.sends(CALL)));
    assert_pending!(greeting.poll());
    assert_pending!(call.poll());
    assert_eq!(*seen.lock().unwrap(), [INITIALIZE, INITIALIZED]);
    gate.add_permits(1);
    assert!(assert_ready!(greeting.poll()).is_ok());
    assert!(call.is_woken());
    assert!(assert_ready!(call.poll()).is_ok());
    assert_eq!(*seen.lock().unwrap(), [INITIALIZE, INITIALIZED, CALL]);
}
