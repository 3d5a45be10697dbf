use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::sync::{mpsc, oneshot};
use tokio_test::{assert_pending, assert_ready, task};
use tower::{ServiceExt, service_fn};

use super::{ResponseBody, StreamableHttp};
use crate::{
    BoxError, McpService,
    message::{ErrorObject, Id, Kind, Message, Principal},
    proxy::BackendError,
    reply::{Body, Event, Events, Head, Opaque, Reply, Sse},
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;

fn post(body: &str) -> Request<String> {
    Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .body(body.to_owned())
        .unwrap()
}

async fn send<S: McpService>(front: StreamableHttp<S>, request: Request<String>) -> Response<ResponseBody> {
    front.oneshot(request).await.unwrap()
}

async fn text(response: Response<ResponseBody>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// A front before a service that answers all with this.
fn answering(
    reply: impl Fn(Message) -> Result<Reply, BoxError> + Clone + Send + Sync + 'static,
) -> StreamableHttp<impl McpService> {
    StreamableHttp::new(service_fn(move |message| std::future::ready(reply(message))))
}

fn result(message: &Message) -> Message {
    message.answer(Ok(&serde_json::json!({}))).unwrap()
}

fn note() -> Event {
    Message::parse(r#"{"jsonrpc":"2.0","method":"m"}"#)
        .unwrap()
        .into()
}

/// Cases 9, 11, 17, 37 and 73: nothing of it reaches the service, and the next message works.
#[tokio::test]
async fn what_is_no_message_is_refused() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let front = answering(move |message| {
        seen.fetch_add(1, Ordering::Relaxed);
        Ok(result(&message).into())
    });
    let deep = "[".repeat(2_000) + &"]".repeat(2_000);
    let deep = |id: &str| format!(r#"{{"jsonrpc":"2.0",{id}"method":"a","params":{{"x":{deep}}}}}"#);
    for (body, code, id) in [
        (&*deep(r#""id":"a","#), -32600, "\"a\""),
        (&*deep(""), -32600, "null"),
        ("{oops", -32700, "null"),
        ("", -32700, "null"),
        (r#" [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, "null"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, "null"),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, "\"a\""),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            -32600,
            "1",
        ),
    ] {
        let response = send(front.clone(), post(body)).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let error = Message::parse(text(response).await).unwrap();
        assert_eq!(error.kind(), Kind::Error);
        let read = error.payload().get("/code").unwrap().unwrap();
        assert_eq!(read.number().unwrap(), code.to_string(), "{body}");
        assert!(error.as_json().contains(&format!("\"id\":{id},")), "{body}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let response = send(front, post(CALL)).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(text(response).await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// Case 85: without a length, too, no more is read than allowed.
#[tokio::test]
async fn a_body_is_read_within_its_limit() {
    let read = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&read);
    let chunks = stream::repeat_with(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 100])))
    });
    let request = Request::post("/")
        .header("content-type", "application/json")
        .body(StreamBody::new(chunks))
        .unwrap();
    let front = answering(|_| panic!("nothing may arrive")).max_body(1000);
    let response = front.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(read.load(Ordering::Relaxed), 11);
    assert!(text(response).await.contains("-32600"));
}

/// Cases 13 and 16.
#[tokio::test]
async fn a_notification_gets_no_body() {
    let accept = answering(|_| Ok(Reply::accepted()));
    let one = answering(|_| {
        let answer = Message::response(&Id::from(1), &serde_json::json!({}))?;
        Ok(Reply::one(answer).with_head(Head::new(StatusCode::OK)))
    });
    for response in [
        send(accept, post(NOTIFICATION)).await,
        send(one, post(NOTIFICATION)).await,
    ] {
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        assert_eq!(response.headers().get("content-type"), None);
        assert_eq!(text(response).await, "");
    }
    // A refusal is told.
    let refused = answering(|_| {
        let error = Message::error(None, &ErrorObject::new(-32600, "no"));
        Ok(Reply::one(error).with_head(Head::new(StatusCode::BAD_REQUEST)))
    });
    let response = send(refused, post(NOTIFICATION)).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(text(response).await.contains("\"no\""));
}

#[tokio::test]
async fn the_exchange_knows_the_request() {
    let front = answering(|message| {
        let exchange = message.exchange();
        assert_eq!(exchange.session(), Some("s1"));
        assert_eq!(&*exchange.principal().unwrap().id, "alice");
        let http = exchange.http().unwrap();
        assert_eq!(http.headers["x-a"], "1");
        assert_eq!(http.uri.path(), "/mcp");
        assert_eq!(http.extensions.get::<u8>(), Some(&7));
        let kind = match http.method.as_str() {
            "POST" => Kind::Request,
            "GET" => Kind::Listen,
            _ => Kind::End,
        };
        assert_eq!(message.kind(), kind);
        Ok(Reply::accepted())
    });
    for (method, status) in [("POST", 202), ("GET", 405), ("DELETE", 202)] {
        let mut request = post(CALL);
        *request.method_mut() = method.parse().unwrap();
        let headers = request.headers_mut();
        headers.insert("mcp-session-id", "s1".parse().unwrap());
        headers.insert("x-a", "1".parse().unwrap());
        request.extensions_mut().insert(Principal::user("alice"));
        request.extensions_mut().insert(7u8);
        // A stack that accepts a GET and says nothing more has no stream (case 58).
        assert_eq!(send(front.clone(), request).await.status(), status);
    }
}

/// Row 20 of the wire notes.
#[tokio::test]
async fn a_modern_message_has_no_session() {
    let front = answering(|message| {
        assert_eq!(message.exchange().session(), None);
        Ok(result(&message).into())
    });
    let mut request = post(MODERN);
    request
        .headers_mut()
        .insert("mcp-session-id", "s1".parse().unwrap());
    assert_eq!(send(front, request).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_backends_head_is_relayed() {
    let front = answering(|message| {
        let mut head = Head::new(StatusCode::NOT_FOUND);
        for (name, value) in [
            ("mcp-session-id", "s1"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "99"),
            ("content-type", "application/json; charset=utf-8"),
            ("www-authenticate", "Bearer"),
        ] {
            head.headers.append(name, value.parse()?);
        }
        let reply = match message.name() {
            Some("opaque") => Reply::opaque(Opaque::from(Bytes::from_static(b"<html>"))),
            _ => result(&message).into(),
        };
        Ok(reply.with_head(head))
    });
    for (call, body) in [
        (CALL.to_owned(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        (CALL.replace("\"a\"", "\"opaque\""), "<html>"),
    ] {
        let response = send(front.clone(), post(&call)).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let mut names: Vec<_> = response.headers().keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "mcp-session-id", "www-authenticate"]);
        assert_eq!(
            response.headers()["content-type"],
            "application/json; charset=utf-8"
        );
        assert_eq!(text(response).await, body);
    }
}

/// Case 61: what the stack says of a session reaches the client.
#[tokio::test]
async fn the_stacks_own_status_is_kept() {
    let front = answering(|message| {
        let error = ErrorObject::new(-32001, "Session not found");
        Ok(Reply::one(message.answer::<()>(Err(&error))?).with_head(Head::new(StatusCode::NOT_FOUND)))
    });
    let response = send(front, post(CALL)).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert!(text(response).await.contains("-32001"));
}

#[tokio::test]
async fn failures_become_errors_with_the_id() {
    for (error, status, kind) in [
        (
            BackendError::unavailable("down").into(),
            StatusCode::BAD_GATEWAY,
            "backend_unavailable",
        ),
        (
            BackendError::timeout("slow").into(),
            StatusCode::GATEWAY_TIMEOUT,
            "backend_timeout",
        ),
        (
            BoxError::from("secret"),
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error",
        ),
    ] {
        let error = Arc::new(Mutex::new(Some(error)));
        let front = answering(move |_| Err(error.lock().unwrap().take().unwrap()));
        let call = CALL.replace("\"id\":1", "\"id\":1.0");
        let response = send(front, post(&call)).await;
        assert_eq!(response.status(), status);
        let text = text(response).await;
        assert!(text.contains(r#""id":1.0,"error":{"code":-32603,"#), "{text}");
        assert!(text.contains(kind) && !text.contains("secret"), "{text}");
    }
}

/// Cases 51, 55 and 59.
#[tokio::test(start_paused = true)]
async fn events_are_sent_one_by_one() {
    let (events, receiver) = mpsc::unbounded_channel::<Result<Event, BoxError>>();
    let receiver = Mutex::new(Some(receiver));
    let receiver = Arc::new(receiver);
    let front = answering(move |_| {
        let mut receiver = receiver.lock().unwrap().take().unwrap();
        Ok(Reply::many(Events::new(stream::poll_fn(move |cx| {
            receiver.poll_recv(cx)
        }))))
    });
    let response = send(front, post(CALL)).await;
    let headers = response.headers();
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["cache-control"], "no-cache, no-transform");
    assert_eq!(headers["x-accel-buffering"], "no");
    let mut body = response.into_body();
    let mut frame = task::spawn(body.frame());
    assert_pending!(frame.poll());
    events.send(Ok(note())).unwrap();
    let data = |frame: Option<Result<Frame<Bytes>, BoxError>>| frame.unwrap().unwrap().into_data().unwrap();
    assert_eq!(
        data(assert_ready!(frame.poll())),
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n"
    );
    drop(frame);
    // Paused time runs on when all else waits.
    let start = tokio::time::Instant::now();
    for second in [15, 30] {
        assert_eq!(data(body.frame().await), ": keepalive\n\n");
        assert_eq!(start.elapsed().as_secs(), second);
    }
    let bare = Sse::parse(Bytes::from_static(b"id: 5\r\ndata:\r\n\r\n"));
    events.send(Ok(Event::bare(bare))).unwrap();
    assert_eq!(data(body.frame().await), "id: 5\r\ndata:\r\n\r\n");
    // The status is long gone: a failure is an event.
    events
        .send(Err(BackendError::unavailable("the backend died").into()))
        .unwrap();
    let error = data(body.frame().await);
    let error = std::str::from_utf8(&error).unwrap();
    assert!(
        error.starts_with("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,")
    );
    assert!(error.contains("backend_unavailable"));
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_stream_nobody_asked_with_an_id_just_ends() {
    let front = answering(|_| {
        let items = [Ok(note()), Err(BoxError::from("broken"))];
        Ok(Reply::many(Events::new(stream::iter(items))))
    });
    let mut get = post("");
    *get.method_mut() = http::Method::GET;
    let text = text(send(front, get).await).await;
    assert!(text.contains("\"m\"") && !text.contains("error"), "{text}");
}

/// Stock layers want to be ready before they are called.
#[tokio::test]
async fn the_service_is_called_when_it_is_ready() {
    let inner = service_fn(|message: Message| async move { Ok::<_, BoxError>(result(&message).into()) });
    let limited = tower::limit::ConcurrencyLimit::new(inner, 1);
    let front = StreamableHttp::new(limited);
    for _ in 0..3 {
        assert_eq!(send(front.clone(), post(CALL)).await.status(), StatusCode::OK);
    }
}

/// A service whose calls end when told to, and that notes when they are dropped.
fn held() -> (
    StreamableHttp<impl McpService>,
    oneshot::Sender<()>,
    oneshot::Receiver<&'static str>,
) {
    struct Note(Option<oneshot::Sender<&'static str>>);
    impl Drop for Note {
        fn drop(&mut self) {
            if let Some(note) = self.0.take() {
                let _ = note.send("dropped");
            }
        }
    }
    let (go, gone) = oneshot::channel();
    let (note, noted) = oneshot::channel();
    let held = Arc::new(Mutex::new(Some((gone, Note(Some(note))))));
    let front = StreamableHttp::new(service_fn(move |message: Message| {
        let (gone, mut note) = held.lock().unwrap().take().unwrap();
        let rest = async move {
            gone.await?;
            note.0.take().unwrap().send("finished").unwrap();
            Ok::<_, BoxError>(Event::from(result(&message)))
        };
        async move {
            // A stream when listening, to begin with an event; else nothing until the end.
            Ok::<_, BoxError>(Reply::many(Events::new(stream::once(rest))))
        }
    }));
    (front, go, noted)
}

/// The same, with the wait before the reply.
fn held_head() -> (
    StreamableHttp<impl McpService>,
    oneshot::Sender<()>,
    oneshot::Receiver<&'static str>,
) {
    let (front, go, noted) = held();
    let inner = front.get_ref().clone();
    let front = StreamableHttp::new(service_fn(move |message: Message| {
        let inner = inner.clone();
        async move {
            let reply: Reply = inner.oneshot(message).await.map_err(Into::into)?;
            Ok::<_, BoxError>(match reply.into_one(|_| {}).await? {
                Some(answer) => Reply::one(answer),
                None => Reply::accepted(),
            })
        }
    }));
    (front, go, noted)
}

/// Case 87: a legacy call runs on, a modern one is dropped at once.
#[tokio::test]
async fn a_client_that_goes_cancels_modern_calls_only() {
    // Before the head.
    for (call, end) in [(CALL, "finished"), (MODERN, "dropped")] {
        let (front, go, noted) = held_head();
        let mut response = task::spawn(front.oneshot(post(call)));
        assert_pending!(response.poll());
        drop(response);
        let _ = go.send(());
        assert_eq!(noted.await.unwrap(), end);
    }
    // In the middle of the stream.
    for (call, end) in [(CALL, "finished"), (MODERN, "dropped")] {
        let (front, go, noted) = held();
        let response = send(front, post(call)).await;
        drop(response);
        let _ = go.send(());
        assert_eq!(noted.await.unwrap(), end);
    }
    // What nobody listens to is closed.
    let (front, go, noted) = held();
    let mut get = post("");
    *get.method_mut() = http::Method::GET;
    drop(send(front, get).await);
    let _ = go.send(());
    assert_eq!(noted.await.unwrap(), "dropped");
}

#[test]
fn outside_of_a_runtime_a_dropped_call_is_just_dropped() {
    let (front, _go, mut noted) = held_head();
    let mut response = task::spawn(front.oneshot(post(CALL)));
    assert_pending!(response.poll());
    drop(response);
    assert_eq!(noted.try_recv(), Ok("dropped"));
}

#[tokio::test]
async fn a_body_that_comes_in_pieces_is_one_message() {
    let chunks = CALL.as_bytes().chunks(7).map(Bytes::copy_from_slice);
    let chunks: Vec<_> = chunks
        .map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)))
        .collect();
    let body = StreamBody::new(stream::iter(chunks).chain(stream::empty()));
    let front = answering(|message| {
        assert_eq!(message.as_json(), CALL);
        Ok(Reply::new(Body::Accepted))
    });
    let request = Request::post("/")
        .header("content-type", "application/json")
        .body(body);
    let response = front.keep_alive(Duration::from_secs(1)).oneshot(request.unwrap());
    assert_eq!(response.await.unwrap().status(), StatusCode::ACCEPTED);
}

/// A client that announces a body and never sends it holds nothing for good.
#[tokio::test(start_paused = true)]
async fn a_body_that_stops_coming_is_given_up() {
    let front = || answering(|_| Ok(Reply::new(Body::Accepted)));
    type Part = Result<Frame<Bytes>, Infallible>;
    let request = |body: stream::BoxStream<'static, Part>| {
        let request = Request::post("/").header("content-type", "application/json");
        request.body(StreamBody::new(body)).unwrap()
    };
    let frame = |text: &'static str| -> Part { Ok(Frame::data(Bytes::from_static(text.as_bytes()))) };
    let stuck = || stream::iter([frame("{")]).chain(stream::pending()).boxed();
    let response = front().oneshot(request(stuck())).await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);

    // Slow, but it comes.
    let slow = stream::iter([&CALL[..9], &CALL[9..20], &CALL[20..]]).then(move |part| async move {
        tokio::time::sleep(Duration::from_secs(20)).await;
        frame(part)
    });
    let response = front().oneshot(request(slow.boxed())).await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);

    let patient = front().body_timeout(None).oneshot(request(stuck()));
    let waited = tokio::time::timeout(Duration::from_secs(3600), patient).await;
    assert!(waited.is_err());
}
