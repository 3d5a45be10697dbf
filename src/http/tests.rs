//! Both ends together, over real sockets.

use std::{future::Future, net::SocketAddr, time::Duration};

use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use tower::ServiceExt;

use super::{
    HttpBackend, Server, StreamableHttp,
    testing::{Conn, Upstream},
};
use crate::reply::Reply;

const CALL: &str = r#"{ "jsonrpc":"2.0", "id":1e0, "method":"tools\/call","params":{"name":"a","n":1.10} }"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
const JSON: &str = "content-type: application/json\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nmcp-session-id: s1\r\n\r\n";

struct Proxy {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

async fn proxy(upstream: &Upstream) -> Proxy {
    let front = StreamableHttp::new(HttpBackend::new(upstream.url()).unwrap()).max_body(10_000);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    // Longer than any test: who does not drain by itself is found out.
    let server = Server::new().drain(Duration::from_secs(600));
    let stopped = async { stopped.await.unwrap_or(()) };
    let task = tokio::spawn(server.serve(listener, front, stopped));
    Proxy { address, stop, task }
}

impl Proxy {
    async fn post(&self, headers: &str, body: &str) -> Conn {
        let mut client = Conn::connect(self.address).await;
        let headers = format!("host: {}\r\n{JSON}{headers}", self.address);
        client.send_message("POST /mcp HTTP/1.1", &headers, body).await;
        client
    }

    async fn get(&self, headers: &str) -> Conn {
        let mut client = Conn::connect(self.address).await;
        let host = self.address;
        client
            .send(&format!(
                "GET /mcp HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n{headers}\r\n"
            ))
            .await;
        client
    }
}

/// No test may hang: the deadline is for what is broken only.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .expect("it hangs")
}

/// Cases 10, 36 and 44: a JSON answer is the same bytes on both sides, and so is the request.
#[tokio::test]
async fn json_passes_byte_for_byte() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut client = proxy
            .post("authorization: Bearer t\r\nmcp-session-id: s1\r\n", CALL)
            .await;
        let mut server = upstream.accept().await;
        assert_eq!(server.body, CALL);
        assert_eq!(server.header("authorization"), Some("Bearer t"));
        assert_eq!(server.header("mcp-session-id"), Some("s1"));
        assert_eq!(server.header("host").unwrap(), &upstream.url()[7..upstream.url().len() - 4]);
        let answer = "{\"jsonrpc\":\"2.0\",\r\n \"x\":1e2,\"id\":1e0,\"result\":{\"n\":9007199254740993,\"s\":\"\\ud800\"}}\n";
        let headers = format!("{JSON}mcp-session-id: s2\r\nx-two: a\r\nx-two: b\r\n");
        server.send_message("HTTP/1.1 200 OK", &headers, answer).await;
        client.receive().await;
        assert_eq!(client.status(), 200);
        assert_eq!(client.body, answer);
        assert_eq!(client.header("mcp-session-id"), Some("s2"));
        assert_eq!(client.header("content-type"), Some("application/json"));
        assert_eq!(client.head.matches("x-two").count(), 2);
    })
    .await;
}

/// Cases 47, 49, 51, 55 and 59: events pass as they came, each at once.
#[tokio::test]
async fn events_pass_byte_for_byte_and_at_once() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut client = proxy.post("", CALL).await;
        let mut server = upstream.accept().await;
        server.send(CHUNKED).await;
        // The head comes before any event.
        client.receive_head().await;
        assert_eq!(client.header("mcp-session-id"), Some("s1"));
        assert_eq!(client.header("x-accel-buffering"), Some("no"));
        assert_eq!(client.header("cache-control"), Some("no-cache, no-transform"));
        let events = [
            ": hello\r\n\r\n",
            "id: 5\nretry: 10\ndata:\n\n",
            "event: message\r\nid: 6\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:  \"method\":\"m\"}\r\nx: y\r\n\r\n",
            "data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"sampling/createMessage\"}\n\n",
            "id:7\ndata:{\"jsonrpc\":\"2.0\",\"id\":1e0,\"result\":{}}\n\n",
        ];
        for event in events {
            server.send_chunk(event).await;
            assert_eq!(client.chunk().await, event);
        }
        server.send("0\r\n\r\n").await;
        assert_eq!(client.chunk().await, "");
    })
    .await;
}

/// Cases 56 and 58: the GET stream, its cursor and its refusal.
#[tokio::test]
async fn a_get_stream_is_relayed() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut client = proxy.get("mcp-session-id: s1\r\nlast-event-id: 6\r\n").await;
        let mut server = upstream.accept().await;
        assert!(server.head.starts_with("GET /mcp HTTP/1.1\r\n"));
        assert_eq!(server.header("last-event-id"), Some("6"));
        assert_eq!(server.header("mcp-session-id"), Some("s1"));
        assert_eq!(server.header("accept"), Some("text/event-stream"));
        server.send(CHUNKED).await;
        client.receive_head().await;
        assert_eq!(client.status(), 200);
        let event = "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
        server.send_chunk(event).await;
        assert_eq!(client.chunk().await, event);
        // Nobody listens any more: the exchange is closed.
        drop(client);
        server.closed().await;

        let mut client = proxy.get("").await;
        let mut server = upstream.accept().await;
        let headers = "allow: POST\r\ncontent-type: text/plain\r\n";
        server
            .send_message("HTTP/1.1 405 Method Not Allowed", headers, "no")
            .await;
        client.receive_head().await;
        assert_eq!(client.status(), 405);
        assert_eq!(client.header("allow"), Some("POST"));
    })
    .await;
}

/// Cases 1 and 2: exchanges do not meet, whatever their ids.
#[tokio::test]
async fn equal_ids_do_not_meet() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut clients = Vec::new();
        let mut servers = Vec::new();
        for name in ["slow", "fast"] {
            let call = CALL.replace("\"a\"", &format!("\"{name}\""));
            clients.push(proxy.post("", &call).await);
            servers.push(upstream.accept().await);
        }
        for at in [1, 0] {
            let name = if servers[at].body.contains("slow") {
                "slow"
            } else {
                "fast"
            };
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{name}"}}"#);
            servers[at].send_message("HTTP/1.1 200 OK", JSON, &answer).await;
            clients[at].receive().await;
            assert_eq!(clients[at].body, answer);
        }
    })
    .await;
}

/// Case 85: over the wire, with and without a length; and the next request works.
#[tokio::test]
async fn too_large_a_body_is_refused() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut client = Conn::connect(proxy.address).await;
        client
            .send(&format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\n{JSON}transfer-encoding: chunked\r\n\r\n"
            ))
            .await;
        for _ in 0..11 {
            client.send_chunk(&" ".repeat(1000)).await;
        }
        client.receive().await;
        assert_eq!(client.status(), 413);
        let mut client = Conn::connect(proxy.address).await;
        client
            .send(&format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\n{JSON}content-length: 600000000\r\n\r\n"
            ))
            .await;
        client.receive().await;
        assert_eq!(client.status(), 413);

        let mut client = proxy.post("", r#"{"jsonrpc":"2.0","method":"m"}"#).await;
        let mut server = upstream.accept().await;
        server.send("HTTP/1.1 204 No Content\r\n\r\n").await;
        client.receive().await;
        assert_eq!(client.status(), 202);
        assert_eq!(client.body, "");
    })
    .await;
}

/// Case 87, over the wire.
#[tokio::test]
async fn a_client_that_goes_closes_modern_exchanges_only() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        // Modern: before the head, and in the middle of a stream.
        let client = proxy.post("", MODERN).await;
        let mut server = upstream.accept().await;
        drop(client);
        server.closed().await;
        let mut client = proxy.post("", MODERN).await;
        let mut server = upstream.accept().await;
        server.send(CHUNKED).await;
        client.receive_head().await;
        drop(client);
        server.closed().await;
        // Legacy: the proxy reads on, and the connection can be used again.
        let mut client = proxy.post("", CALL).await;
        let mut server = upstream.accept().await;
        server.send(CHUNKED).await;
        client.receive_head().await;
        drop(client);
        for _ in 0..100 {
            let data = "x".repeat(9000);
            server
                .send_chunk(&format!(
                    "data: {{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{{\"d\":\"{data}\"}}}}\n\n"
                ))
                .await;
        }
        server.send("0\r\n\r\n").await;
        let mut client = proxy.post("", r#"{"jsonrpc":"2.0","method":"again"}"#).await;
        let mut next = server.on_either(&upstream).await;
        assert!(next.body.contains("again"));
        next.send("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            .await;
        client.receive().await;
        assert_eq!(client.status(), 202);
    })
    .await;
}

/// Cases 45 and 78: a backend that is down or dies is named, with the id; the next call works.
#[tokio::test]
async fn a_backend_that_fails_is_an_error_with_the_id() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut client = proxy.post("", CALL).await;
        drop(upstream.accept().await);
        client.receive().await;
        assert_eq!(client.status(), 502);
        assert!(
            client.body.contains(r#""id":1e0,"error":{"code":-32603"#),
            "{}",
            client.body
        );
        assert!(client.body.contains("backend_unavailable"));

        let mut client = proxy.post("", CALL).await;
        let mut server = upstream.accept().await;
        server.send(CHUNKED).await;
        client.receive_head().await;
        server.send_chunk("data: {\"unfin").await;
        drop(server);
        let event = client.chunked().await;
        assert!(event.starts_with("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1e0,\"error\""));

        let mut client = proxy.post("", CALL).await;
        let mut server = upstream.accept().await;
        let answer = r#"{"jsonrpc":"2.0","id":1e0,"result":{}}"#;
        let last = format!("{JSON}connection: close\r\n");
        server.send_message("HTTP/1.1 200 OK", &last, answer).await;
        client.receive().await;
        assert_eq!(client.body, answer);
        assert_eq!(client.header("connection"), None);
        drop(upstream);
        let mut client = proxy.post("", CALL).await;
        client.receive().await;
        assert_eq!(client.status(), 502);
        assert!(client.body.contains("cannot be reached"), "{}", client.body);
    })
    .await;
}

/// Case 90, and other paths are the router's: the front serves where it is mounted.
#[tokio::test]
async fn it_mounts_in_axum() {
    soon(async {
        let mcp = StreamableHttp::new(tower::service_fn(|message: crate::message::Message| async move {
            let answer = message.answer(Ok(&serde_json::json!({}))).unwrap();
            Ok::<_, std::convert::Infallible>(Reply::one(answer))
        }));
        let app = axum::Router::new()
            .route_service("/mcp", mcp.clone())
            .nest_service("/nested", mcp);
        for (path, status) in [("/mcp", 200), ("/nested", 200), ("/other", 404)] {
            let request = http::Request::post(path)
                .header("content-type", "application/json")
                .body(axum::body::Body::from(CALL));
            let response = app.clone().oneshot(request.unwrap()).await.unwrap();
            assert_eq!(response.status(), status, "{path}");
        }
        let foreign = http::Request::post("/mcp")
            .header("content-type", "application/json")
            .header("origin", "http://evil.com")
            .body(axum::body::Body::from(CALL));
        let response = app.oneshot(foreign.unwrap()).await.unwrap();
        assert_eq!(response.status(), 403);
    })
    .await;
}

/// What runs is drained, GET streams are closed, and then the server is gone.
#[tokio::test]
async fn a_server_that_stops_drains() {
    soon(async {
        let upstream = Upstream::bind().await;
        let proxy = proxy(&upstream).await;
        let mut listening = proxy.get("").await;
        let mut stream = upstream.accept().await;
        stream.send(CHUNKED).await;
        listening.receive_head().await;
        let mut calling = proxy.post("", CALL).await;
        let mut server = upstream.accept().await;
        let _ = proxy.stop.send(());
        assert_eq!(listening.chunked().await, "");
        stream.closed().await;
        let answer = r#"{"jsonrpc":"2.0","id":1e0,"result":{}}"#;
        server.send_message("HTTP/1.1 200 OK", JSON, answer).await;
        calling.receive().await;
        assert_eq!(calling.body, answer);
        proxy.task.await.unwrap().unwrap();
        assert!(tokio::net::TcpStream::connect(proxy.address).await.is_err());
    })
    .await;
}

/// In process, without a socket: a front is an HTTP service, and so a backend's client.
#[tokio::test]
async fn a_front_can_be_a_backends_client() {
    let front = StreamableHttp::new(tower::service_fn(|message: crate::message::Message| async move {
        let answer = message.answer(Ok(&serde_json::json!({"tools": []}))).unwrap();
        Ok::<_, std::convert::Infallible>(Reply::one(answer))
    }));
    let backend = HttpBackend::builder("http://localhost/mcp")
        .build_with(front)
        .unwrap();
    let call = crate::message::Message::bare_request(&1.into(), "tools/list");
    let reply = backend.oneshot(call).await.unwrap();
    let answer = reply.into_one(|_| {}).await.unwrap().unwrap();
    assert_eq!(
        answer.as_json(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#
    );
}
