//! Sessions over children that are in-memory links here.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::{io::split, sync::mpsc};
use tower::ServiceExt;

use super::*;
use crate::{
    BoxError,
    message::{Connection, Exchange, HttpContext, Id, Kind, Message, Principal, PrincipalKind},
    reply::{Body, Reply},
    stdio::LinkOptions,
};

/// A pool whose children answer every request with their number; `die` makes one exit.
struct Pool {
    pool: ChildPool,
    started: Arc<AtomicUsize>,
    /// The numbers of children whose input has ended.
    ended: mpsc::UnboundedReceiver<usize>,
}

fn pool() -> Pool {
    let started = Arc::new(AtomicUsize::new(0));
    let (tell, ended) = mpsc::unbounded_channel();
    let count = Arc::clone(&started);
    let pool = ChildPool::with(move |sharing| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        let (ours, theirs) = tokio::io::duplex(4096);
        let (reader, writer) = split(ours);
        let tell = tell.clone();
        tokio::spawn(async move {
            serve_tiny(number, theirs).await;
            let _ = tell.send(number);
        });
        let link = LinkOptions::new()
            .shared(sharing == Sharing::Shared)
            .connect(reader, writer);
        Ok(ChildBackend::without_process(link))
    });
    Pool { pool, started, ended }
}

async fn serve_tiny(number: usize, pipe: tokio::io::DuplexStream) {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let (reader, mut writer) = split(pipe);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message = Message::parse(line).unwrap();
        if message.kind() != Kind::Request || message.is_request("hang") {
            continue;
        }
        if message.is_request("die") {
            return;
        }
        let answer = if message.is_request("initialize") && message.payload().as_json().contains("bad") {
            message
                .answer::<()>(Err(&crate::message::ErrorObject::new(-32602, "bad")))
                .unwrap()
        } else {
            message.answer(Ok(&serde_json::json!({"child": number}))).unwrap()
        };
        let _ = writer
            .write_all(format!("{}\n", answer.as_json()).as_bytes())
            .await;
    }
}

impl Pool {
    async fn send(&self, message: Message, exchange: Exchange) -> Result<Reply, BoxError> {
        self.pool
            .clone()
            .oneshot(message.with_exchange(Arc::new(exchange)))
            .await
    }

    async fn open(&self, exchange: Exchange) -> String {
        let reply = self.send(request("initialize"), exchange).await.unwrap();
        let id = reply.head().unwrap().headers.get(SESSION_HEADER).unwrap();
        id.to_str().unwrap().into()
    }

    async fn child(&self, message: Message, exchange: Exchange) -> String {
        child(self.send(message, exchange).await.unwrap())
    }

    /// The status of a refusal and its code.
    async fn refused(&self, message: Message, exchange: Exchange) -> (u16, String) {
        let reply = self.send(message, exchange).await.unwrap();
        let status = reply.head().expect("a status").status.as_u16();
        let Body::One(error) = reply.body else {
            panic!("not refused")
        };
        (
            status,
            error.payload().get("/code").unwrap().unwrap().raw().into(),
        )
    }
}

fn child(reply: Reply) -> String {
    let Body::One(answer) = reply.body else {
        panic!("not one message")
    };
    answer
        .payload()
        .get("/child")
        .unwrap()
        .expect("an answer")
        .raw()
        .into()
}

fn request(method: &str) -> Message {
    Message::bare_request(&Id::from(1), method)
}

fn modern(method: &str) -> Message {
    let meta = serde_json::json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    Message::request(&Id::from(1), method, &meta).unwrap()
}

fn session(id: &str) -> Exchange {
    Exchange::new().with_session(id)
}

fn not_found() -> (u16, String) {
    (404, "-32001".into())
}

#[tokio::test]
async fn each_session_has_its_child() {
    let pool = pool();
    let (one, two) = (pool.open(Exchange::new()).await, pool.open(Exchange::new()).await);
    assert!(one != two && one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    for _ in 0..2 {
        assert_eq!(pool.child(request("a"), session(&one)).await, "1");
        assert_eq!(pool.child(request("a"), session(&two)).await, "2");
    }
    assert_eq!(pool.pool.len(), 2);
}

/// Case 61: unknown and missing sessions.
#[tokio::test]
async fn case_61_unknown_and_missing_sessions_are_told_apart() {
    let pool = pool();
    for message in [
        request("ping"),
        Message::listen(),
        Message::end(),
        Message::parse(r#"{"jsonrpc":"2.0","method":"n"}"#).unwrap(),
    ] {
        assert_eq!(pool.refused(message.clone(), session("nope")).await, not_found());
        assert_eq!(
            pool.refused(message, Exchange::new()).await,
            (400, "-32600".into())
        );
    }
    assert_eq!(pool.started.load(Ordering::SeqCst), 0);
}

/// Case 63: a session is its owner's.
#[tokio::test]
async fn case_63_a_session_is_bound_to_its_principal() {
    let pool = pool();
    let as_user = |id: &str| Exchange::new().with_principal(Principal::user(id));
    let alices = pool.open(as_user("alice")).await;
    let anybodys = pool.open(Exchange::new()).await;
    for other in [as_user("bob"), Exchange::new()] {
        assert_eq!(
            pool.refused(request("a"), other.with_session(alices.as_str()))
                .await,
            not_found()
        );
    }
    assert_eq!(
        pool.refused(Message::end(), as_user("bob").with_session(alices.as_str()))
            .await,
        not_found()
    );
    assert_eq!(
        pool.refused(request("a"), as_user("bob").with_session(anybodys.as_str()))
            .await,
        not_found()
    );
    assert_eq!(
        pool.child(request("a"), as_user("alice").with_session(alices.as_str()))
            .await,
        "1"
    );
    let anonymous = Principal::new(PrincipalKind::Anonymous, "anonymous");
    assert_eq!(
        pool.child(request("a"), session(&anybodys).with_principal(anonymous))
            .await,
        "2"
    );
}

#[tokio::test]
async fn end_ends_the_session_and_its_child() {
    let mut pool = pool();
    let id = pool.open(Exchange::new()).await;
    let reply = pool.send(Message::end(), session(&id)).await.unwrap();
    assert_eq!(reply.head().unwrap().status, StatusCode::NO_CONTENT);
    assert_eq!(pool.ended.recv().await, Some(1));
    assert_eq!(pool.refused(request("a"), session(&id)).await, not_found());
    assert!(pool.pool.is_empty());
}

/// Cases 60 and 78: nothing is restarted behind the client's back; the next session works.
#[tokio::test]
async fn case_78_a_dead_child_ends_its_session() {
    let pool = pool();
    let id = pool.open(Exchange::new()).await;
    assert!(pool.send(request("die"), session(&id)).await.is_err());
    assert_eq!(pool.refused(request("a"), session(&id)).await, not_found());
    let next = pool.open(Exchange::new()).await;
    assert_eq!(pool.child(request("a"), session(&next)).await, "2");
}

#[tokio::test]
async fn a_refused_initialize_opens_no_session() {
    let mut pool = pool();
    let bad = Message::request(&Id::from(1), "initialize", &serde_json::json!({"bad": 1})).unwrap();
    let reply = pool.send(bad, Exchange::new()).await.unwrap();
    assert!(reply.head().is_none());
    assert_eq!(pool.ended.recv().await, Some(1));
    assert!(pool.pool.is_empty());
}

/// A client that leaves before it knows its session leaves no child behind.
#[tokio::test]
async fn case_76_an_initialize_that_is_dropped_leaves_nothing() {
    let mut pool = pool();
    let mut opening = tokio_test::task::spawn(pool.send(request("initialize"), Exchange::new()));
    tokio_test::assert_pending!(opening.poll());
    drop(opening);
    assert_eq!(pool.ended.recv().await, Some(1));
    assert!(pool.pool.is_empty());
}

/// Modern: one child for each principal, started once, and again when it has died: there is no state to lose.
#[tokio::test]
async fn modern_requests_share_a_child_per_principal() {
    let pool = pool();
    let (one, two) = tokio::join!(
        pool.child(modern("a"), Exchange::new()),
        pool.child(modern("a"), Exchange::new().with_session("ignored")),
    );
    assert_eq!((one.as_str(), two.as_str()), ("1", "1"));
    let alice = || Exchange::new().with_principal(Principal::user("alice"));
    assert_eq!(pool.child(modern("a"), alice()).await, "2");
    assert!(pool.send(modern("die"), alice()).await.is_err());
    assert_eq!(pool.child(modern("a"), alice()).await, "3");
    assert_eq!(pool.child(modern("a"), Exchange::new()).await, "1");
    let mut http = HttpContext::default();
    let mut headers = HeaderMap::new();
    headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
    http.headers = headers;
    let listen = pool
        .refused(Message::listen(), Exchange::new().with_http(http.clone()))
        .await;
    assert_eq!(listen.0, 405);
    let note = Message::parse(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).unwrap();
    assert!(matches!(
        pool.send(note, Exchange::new().with_http(http))
            .await
            .unwrap()
            .body,
        Body::Accepted
    ));
}

#[tokio::test]
async fn each_connection_has_its_child() {
    let mut pool = pool();
    let (a, b) = (Arc::new(Connection::new()), Arc::new(Connection::new()));
    let on = |connection: &Arc<Connection>| Exchange::new().with_connection(Arc::clone(connection));
    assert_eq!(pool.child(request("initialize"), on(&a)).await, "1");
    assert_eq!(pool.child(modern("x"), on(&b)).await, "2");
    assert_eq!(pool.child(request("x"), on(&a)).await, "1");
    pool.send(Message::end(), on(&a)).await.unwrap();
    assert_eq!(pool.ended.recv().await, Some(1));
    assert_eq!(pool.child(request("x"), on(&b)).await, "2");
}

/// Case 65: sessions without an end do not stay.
#[tokio::test(start_paused = true)]
async fn case_65_unused_sessions_end() {
    let mut pool = pool();
    pool.pool = pool.pool.clone().idle_timeout(Duration::from_secs(60));
    let id = pool.open(Exchange::new()).await;
    let busy = pool.open(Exchange::new()).await;
    let listening = pool.send(Message::listen(), session(&id)).await.unwrap();
    let hanging = pool
        .pool
        .clone()
        .oneshot(request("hang").with_exchange(Arc::new(session(&busy))));
    let hanging = tokio::spawn(hanging);
    assert_eq!(pool.ended.recv().await, Some(1));
    assert_eq!(pool.refused(request("a"), session(&id)).await, not_found());
    assert_eq!(pool.child(request("a"), session(&busy)).await, "2");
    drop(listening);
    hanging.abort();
    assert_eq!(pool.ended.recv().await, Some(2));
}

/// Case 65: the one unused for longest makes room; one in use does not.
#[tokio::test(start_paused = true)]
async fn case_65_too_many_sessions_evict_the_idle() {
    let mut pool = pool();
    pool.pool = pool.pool.clone().max_children(2);
    let first = pool.open(Exchange::new()).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = pool.open(Exchange::new()).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    pool.child(request("a"), session(&first)).await;
    let third = pool.open(Exchange::new()).await;
    assert_eq!(pool.ended.recv().await, Some(2));
    assert_eq!(pool.refused(request("a"), session(&second)).await, not_found());
    let mut hanging = Vec::new();
    for id in [&first, &third] {
        let call = pool
            .pool
            .clone()
            .oneshot(request("hang").with_exchange(Arc::new(session(id))));
        let mut call = tokio_test::task::spawn(call);
        tokio_test::assert_pending!(call.poll());
        hanging.push(call);
    }
    assert!(pool.send(request("initialize"), Exchange::new()).await.is_err());
    hanging.pop();
    pool.open(Exchange::new()).await;
    assert_eq!(pool.refused(request("a"), session(&third)).await, not_found());
}

#[tokio::test]
async fn shutdown_ends_them_all() {
    let mut pool = pool();
    pool.open(Exchange::new()).await;
    pool.child(modern("a"), Exchange::new()).await;
    pool.pool.shutdown().await;
    let mut ended = [pool.ended.recv().await, pool.ended.recv().await];
    ended.sort_unstable();
    assert_eq!(ended, [Some(1), Some(2)]);
    assert!(pool.pool.is_empty());
}

/// Case 68: the version that a client names is one the session can mean.
#[tokio::test]
async fn case_68_a_session_speaks_its_version_and_no_other() {
    let pool = pool();
    let id = pool.open(Exchange::new()).await;
    pool.pool.inner.table().negotiated(&id, "2024-10-07");
    let naming = |version: &str| {
        let request = http::Request::post("/").header("mcp-protocol-version", version);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        session(&id).with_http(HttpContext::new(parts))
    };
    for good in ["2024-10-07", "2025-06-18", "2025-11-25"] {
        assert_eq!(pool.child(request("a"), naming(good)).await, "1", "{good}");
    }
    let note = || Message::parse(r#"{"jsonrpc":"2.0","method":"n"}"#).unwrap();
    for bad in ["1999-01-01", "banana", "", "zzzz-zz-zz"] {
        for message in [request("a"), note(), Message::listen(), Message::end()] {
            assert_eq!(
                pool.refused(message, naming(bad)).await,
                (400, "-32600".into()),
                "{bad}"
            );
        }
    }
    assert_eq!(pool.started.load(Ordering::SeqCst), 1, "none is taken for modern");
    assert_eq!(pool.child(request("a"), session(&id)).await, "1");
}

/// Case 76: a client that goes before it knows its session leaves no child.
#[cfg(feature = "http")]
#[tokio::test]
async fn case_76_an_initialize_that_is_cut_leaves_no_child() {
    use tokio_test::{assert_pending, task};

    let pool = pool();
    let front = crate::http::StreamableHttp::new(pool.pool.clone());
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initi\u0061lize"}"#,
    ] {
        let request = http::Request::post("/").header("content-type", "application/json");
        let mut response = task::spawn(front.clone().oneshot(request.body(body.to_owned()).unwrap()));
        assert_pending!(response.poll());
        assert_eq!(pool.pool.len(), 1, "it has begun");
        drop(response);
        assert_eq!(pool.pool.len(), 0);
    }
}
