//! The front over in-memory pipes.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::*;
use crate::{
    BoxError,
    message::Kind,
    proxy::BackendError,
    reply::{Events, Head, Opaque, Reply},
    stdio::Link,
};

type Handling = BoxFuture<'static, Result<Reply, BoxError>>;

struct Client {
    lines: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<io::Result<()>>,
    stop: Option<oneshot::Sender<()>>,
}

impl Client {
    async fn say(&mut self, line: &str) {
        self.say_bytes(format!("{line}\n").as_bytes()).await;
    }

    async fn say_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        // A deadline, so that what should come and does not is a failure and no hang.
        let reading = self.lines.read_line(&mut line);
        tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .expect("no line came")
            .unwrap();
        line.trim_end_matches('\n').into()
    }

    /// The code and the id of an error line.
    async fn error(&mut self) -> (String, String) {
        let line = self.line().await;
        let message = Message::parse(line.clone()).unwrap();
        assert_eq!(message.kind(), Kind::Error, "{line}");
        let id = message.id().map_or("null".into(), |id| id.to_string());
        (message.payload().get("/code").unwrap().unwrap().raw().into(), id)
    }

    /// The client closes the stack's input.
    async fn leave(&mut self) {
        self.writer.shutdown().await.unwrap();
    }
}

fn serve_fn<F>(server: StdioServer, handle: F) -> Client
where
    F: Fn(Message) -> Handling + Clone + Send + Sync + 'static,
{
    serve_with(server, tower::service_fn(handle))
}

fn serve_with<S: McpService>(server: StdioServer, service: S) -> Client {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = split(theirs);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve_on(reader, writer, service, stopped.map(drop)));
    let (lines, client) = split(ours);
    Client {
        lines: BufReader::new(lines),
        writer: client,
        serving,
        stop: Some(stop),
    }
}

fn ready(reply: Result<Reply, BoxError>) -> Handling {
    futures::future::ready(reply).boxed()
}

fn answer(message: &Message) -> Handling {
    ready(Ok(Reply::one(message.answer(Ok(&json!({}))).unwrap())))
}

#[allow(clippy::needless_pass_by_value, reason = "it is a handler")]
fn polite(message: Message) -> Handling {
    match message.kind() {
        Kind::Request => answer(&message),
        _ => ready(Ok(Reply::accepted())),
    }
}

fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// Cases 9, 11, 39 and 73: each bad line is refused, and the next message works.
#[tokio::test]
async fn case_73_bad_lines_are_refused_one_by_one() {
    let mut client = serve_fn(StdioServer::new().max_message_bytes(1_000), polite);
    let refused: [(&[u8], &str, &str); 7] = [
        (b"{this is not json\n", "-32700", "null"),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":\"\xb0\xa1\"}}\n",
            "-32700",
            "null",
        ),
        (
            b" [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"denied\"}]\n",
            "-32600",
            "null",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
            "-32600",
            "null",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"a\",\"method\":\"b\"}\n",
            "-32600",
            "\"7\"",
        ),
        (
            &[
                b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"a\",\"x\":\"".as_slice(),
                &[b'x'; 5_000],
                b"\"}\n",
            ]
            .concat(),
            "-32600",
            "8",
        ),
        (&[[b'x'; 5_000].as_slice(), b"\n"].concat(), "-32600", "null"),
    ];
    for (line, code, id) in refused {
        client.say_bytes(b"\n  \r\n").await;
        client.say_bytes(line).await;
        assert_eq!(client.error().await, (code.into(), id.into()));
        client.say(&request("1.0", "ping")).await;
        assert_eq!(client.line().await, result("1.0"));
    }
}

/// A bad answer is refused to the server that waits for it: with its id, the client would take the refusal for
/// the answer to a call of its own.
#[tokio::test]
async fn a_bad_answer_becomes_an_error_for_the_server() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut client = serve_fn(StdioServer::new().max_message_bytes(1_000), move |message| {
        if message.kind() == Kind::Error {
            tell.send(message.id().unwrap().to_string()).unwrap();
        }
        polite(message)
    });
    client
        .say(r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#)
        .await;
    assert_eq!(told.recv().await.unwrap(), "1");
    client
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":"{}"}}"#,
            "x".repeat(2_000)
        ))
        .await;
    assert_eq!(told.recv().await.unwrap(), "2");
    client.say(&request("3", "ping")).await;
    assert_eq!(client.line().await, result("3"));
}

/// Cases 1 and 82: equal ids in flight are both served, and the fast one is not behind the slow one.
#[tokio::test]
async fn case_1_82_calls_run_at_once() {
    let release = Arc::new(tokio::sync::Notify::new());
    let gate = Arc::clone(&release);
    let mut client = serve_fn(StdioServer::new(), move |message| {
        let gate = Arc::clone(&gate);
        async move {
            if message.is_request("slow") {
                gate.notified().await;
                return Ok(Reply::one(message.answer(Ok(&json!({"slow": 1})))?));
            }
            polite(message).await
        }
        .boxed()
    });
    client.say(&request("1", "slow")).await;
    client.say(&request("1", "fast")).await;
    assert_eq!(client.line().await, result("1"));
    release.notify_one();
    assert_eq!(
        client.line().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{"slow":1}}"#
    );
}

/// Whatever comes instead of an answer, the client gets an error with its id.
#[tokio::test]
async fn every_request_is_answered() {
    let mut client = serve_fn(StdioServer::new(), |message| {
        let broken = || Err::<Message, BoxError>(BackendError::timeout("too slow").into());
        ready(match message.method() {
            Some("down") => Err(BackendError::unavailable("the server process has exited").into()),
            Some("secret") => Err("password=hunter2".into()),
            Some("page") => Ok(Reply::opaque(Opaque::from(bytes::Bytes::from("<html>")))
                .with_head(Head::new(http::StatusCode::UNAUTHORIZED))),
            Some("taken") => Ok(Reply::accepted()),
            Some("broken") => Ok(Reply::many(Events::new(stream::iter([broken()])))),
            Some("short") => Ok(Reply::many(Events::new(
                stream::empty::<Result<Message, BoxError>>(),
            ))),
            _ => Ok(Reply::accepted()),
        })
    });
    for (method, expected) in [
        (
            "down",
            r#"{"code":-32603,"message":"the server process has exited","data":{"kind":"backend_unavailable"}}"#,
        ),
        ("secret", r#"{"code":-32603,"message":"the request failed"}"#),
        (
            "page",
            r#"{"code":-32603,"message":"the server answered with HTTP status 401 and no JSON-RPC","data":{"kind":"backend_unavailable"}}"#,
        ),
        (
            "taken",
            r#"{"code":-32603,"message":"the server ended its reply without an answer","data":{"kind":"backend_unavailable"}}"#,
        ),
        (
            "broken",
            r#"{"code":-32603,"message":"too slow","data":{"kind":"backend_timeout"}}"#,
        ),
        (
            "short",
            r#"{"code":-32603,"message":"the server ended its reply without an answer","data":{"kind":"backend_unavailable"}}"#,
        ),
    ] {
        client.say(&request("\"\\u0041\"", method)).await;
        assert_eq!(
            client.line().await,
            format!(r#"{{"jsonrpc":"2.0","id":"\u0041","error":{expected}}}"#)
        );
    }
}

/// All messages of one client share its connection, and `Listen` comes first.
#[tokio::test(start_paused = true)]
async fn listens_from_the_start_and_again() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let saw = Arc::clone(&seen);
    let mut client = serve_fn(StdioServer::new(), move |message| {
        let connection = Arc::as_ptr(message.exchange().connection().unwrap()).addr();
        saw.lock().unwrap().push((message.kind(), connection));
        if message.kind() == Kind::Listen {
            let note = Message::parse("{\"jsonrpc\":\"2.0\",\n\"method\":\"n\"}").unwrap();
            return ready(Ok(Reply::many(Events::new(stream::iter([Ok::<_, BoxError>(
                note,
            )])))));
        }
        polite(message)
    });
    for _ in 0..2 {
        assert_eq!(client.line().await, r#"{"jsonrpc":"2.0", "method":"n"}"#);
    }
    client.say(&request("1", "a")).await;
    assert_eq!(client.line().await, result("1"));
    let seen = seen.lock().unwrap();
    let kinds: Vec<_> = seen.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds[..3], [Kind::Listen, Kind::Listen, Kind::Request]);
    assert!(seen.iter().all(|(_, connection)| *connection == seen[0].1));
}

/// Case 22: the flag of the call is up before the cancel reaches the stack, and no answer follows.
#[tokio::test]
async fn case_22_no_answer_follows_a_cancel() {
    let held = Arc::new(Mutex::new(Vec::<(Message, oneshot::Sender<()>)>::new()));
    let (tell, mut told) = mpsc::unbounded_channel();
    let holding = Arc::clone(&held);
    let mut client = serve_fn(StdioServer::new(), move |message| {
        if message.is_request("slow") {
            let (send, done) = oneshot::channel();
            holding.lock().unwrap().push((message.clone(), send));
            return async move {
                let _ = done.await;
                answer(&message).await
            }
            .boxed();
        }
        if message.kind() == Kind::Notification {
            let flags: Vec<_> = holding
                .lock()
                .unwrap()
                .iter()
                .map(|(held, _)| held.exchange().cancellation().is_cancelled())
                .collect();
            tell.send(flags).unwrap();
        }
        polite(message)
    });
    client.say(&request("1", "slow")).await;
    client.say(&request("\"1\"", "slow")).await;
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0}}"#)
        .await;
    assert_eq!(told.recv().await.unwrap(), [true, false]);
    for (_, done) in held.lock().unwrap().drain(..) {
        done.send(()).unwrap();
    }
    assert_eq!(client.line().await, result("\"1\""));
    client.say(&request("2", "ping")).await;
    assert_eq!(client.line().await, result("2"));
}

/// Modern: a cancel drops the exchange, so that a backend over HTTP learns of it too.
#[tokio::test]
async fn a_modern_cancel_drops_the_exchange() {
    let (tell, mut told) = mpsc::unbounded_channel::<()>();
    let mut client = serve_fn(StdioServer::new(), move |message| {
        let tell = tell.clone();
        if message.kind() != Kind::Request {
            return polite(message);
        }
        async move {
            let _alive = tell;
            let note = Message::notification("started", &json!({}))?;
            let events = stream::iter([Ok::<_, BoxError>(note)]).chain(stream::pending().map(move |item| {
                let _alive = &_alive;
                item
            }));
            Ok(Reply::many(Events::new(events)))
        }
        .boxed()
    });
    client.say(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#).await;
    assert!(client.line().await.contains("started"));
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    client.leave().await;
    client.serving.await.unwrap().unwrap();
    assert!(told.recv().await.is_none());
}

/// The end of stdin: what runs may finish, then the stack is told, then it is over.
#[tokio::test(start_paused = true)]
async fn case_77_the_end_of_stdin_ends_it_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let saw = Arc::clone(&seen);
    let mut client = serve_fn(StdioServer::new(), move |message| {
        if matches!(message.kind(), Kind::Request | Kind::End) {
            saw.lock()
                .unwrap()
                .push(message.method().unwrap_or("end").to_owned());
        }
        async move {
            match message.method() {
                Some("slow") => tokio::time::sleep(Duration::from_secs(3)).await,
                Some("hung") => std::future::pending().await,
                _ => {}
            }
            polite(message).await
        }
        .boxed()
    });
    client.say(&request("1", "slow")).await;
    client.say_bytes(request("2", "hung").as_bytes()).await;
    client.leave().await;
    assert_eq!(client.line().await, result("1"));
    assert_eq!(client.line().await, "", "stdout ends");
    client.serving.await.unwrap().unwrap();
    assert_eq!(*seen.lock().unwrap(), ["slow", "hung", "end"]);
}

#[tokio::test]
async fn a_shutdown_ends_it_too() {
    let mut client = serve_fn(StdioServer::new(), polite);
    client.say(&request("1", "a")).await;
    assert_eq!(client.line().await, result("1"));
    client.stop.take().unwrap().send(()).unwrap();
    client.serving.await.unwrap().unwrap();
}

/// A client that does not read still gets its answers and cancels into the stack.
#[tokio::test]
async fn case_83_a_client_that_does_not_read_is_still_heard() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut client = serve_fn(StdioServer::new(), move |message| {
        if message.kind() == Kind::Response {
            tell.send(()).unwrap();
        }
        if message.is_request("flood") {
            let note = Message::notification("n", &json!({"x": "x".repeat(1_000)})).unwrap();
            return ready(Ok(Reply::many(Events::new(stream::repeat_with(move || {
                Ok::<_, BoxError>(note.clone())
            })))));
        }
        polite(message)
    });
    client.say(&request("1", "flood")).await;
    client.line().await;
    client.say(&result("5")).await;
    told.recv().await.unwrap();
}

/// Trap 4: what the server says in order reaches the client in order, though one half goes to `Listen` and the
/// other to its call, and the server runs on another thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_between_listen_and_replies_is_kept() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let mut client = serve_with(StdioServer::new(), Link::new(reader, writer));
    let server = tokio::spawn(async move {
        let (lines, mut writer) = split(theirs);
        let mut lines = BufReader::new(lines).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let id = Message::parse(line).unwrap().id().unwrap();
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            writer.write_all(format!("{changed}\n").as_bytes()).await.unwrap();
            writer
                .write_all(format!("{}\n", result(id.as_json())).as_bytes())
                .await
                .unwrap();
        }
    });
    for round in 0..2_000 {
        client.say(&request("1", "a")).await;
        assert!(client.line().await.contains("list_changed"), "round {round}");
        assert_eq!(client.line().await, result("1"));
    }
    client.leave().await;
    client.serving.await.unwrap().unwrap();
    server.await.unwrap();
}

/// Pipes that only exist so that `serve_on` is seen to take any.
#[tokio::test]
async fn serves_on_any_pipes() {
    let reader: Pin<Box<dyn AsyncRead + Send>> =
        Box::pin(&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}"[..]);
    let mut out = Vec::new();
    serve_on(
        reader,
        &mut out,
        tower::service_fn(polite),
        std::future::pending(),
    )
    .await
    .unwrap();
    assert_eq!(out, format!("{}\n", result("1")).as_bytes());
}
