//! A server that lives in the same program, guarded: an axum router that is a tiny MCP server, behind other layers.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Extension, Json, Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response, Sse, sse},
    routing::post,
};
use futures::{StreamExt, stream};
use mcp_interceptors::{
    BoxError, ServiceBuilderExt,
    chain::Chain,
    http::guard,
    intercept::InterceptorLayer,
    interceptor::{Context, Interceptor},
    message::{Payload, Principal},
};
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};
use tower_http::{timeout::TimeoutLayer, trace::TraceLayer};

/// The tiny server: what it saw of a request is its answer. The tool `stream` answers in a stream, `slow` not at all.
fn server(calls: Arc<AtomicUsize>) -> Router {
    Router::new()
        .route(
            "/mcp",
            post(mcp)
                .get(listen)
                .delete(|| async { StatusCode::METHOD_NOT_ALLOWED }),
        )
        .with_state(calls)
}

async fn mcp(
    State(calls): State<Arc<AtomicUsize>>,
    principal: Option<Extension<Principal>>,
    request: Request,
) -> Response {
    calls.fetch_add(1, Ordering::SeqCst);
    let (path, headers) = (request.uri().path().to_owned(), request.headers().clone());
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    if message["id"].is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {
        "principal": principal.map(|Extension(principal)| principal.id.to_string()),
        "path": path,
        "host": text(&headers, header::HOST.as_str()),
        "custom": text(&headers, "x-custom"),
        "body": String::from_utf8(body.to_vec()).unwrap(),
    }});
    match message["params"]["name"].as_str() {
        Some("slow") => std::future::pending().await,
        Some("stream") => {
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"secret": "hunter2"}});
            let events = [progress, answer].map(|message| sse::Event::default().data(message.to_string()));
            Sse::new(stream::iter(events.map(Ok::<_, Infallible>))).into_response()
        }
        _ => ([("mcp-session-id", "s1")], Json(answer)).into_response(),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

async fn listen() -> impl IntoResponse {
    let message = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let events = stream::iter([Ok::<_, Infallible>(
        sse::Event::default().id("7").data(message.to_string()),
    )]);
    Sse::new(events.chain(stream::pending()))
}

/// Only root may call `root`; what comes back is redacted.
fn chain() -> Chain {
    let only_root = Interceptor::validator("only-root")
        .on("tools/call")
        .request()
        .handler(|call: Payload, context: Context| async move {
            let root = call.get("/name")?.is_some_and(|name| name.raw() == r#""root""#);
            let is_root = context
                .principal
                .as_ref()
                .and_then(|principal| principal.id.as_deref())
                == Some("root");
            Ok::<_, BoxError>(!root || is_root)
        });
    let redact = Interceptor::mutator("redact")
        .on("tools/call")
        .and("notifications/progress")
        .both()
        .handler(|mut payload: Payload| async move {
            payload.edit_strings(|text| text.contains("hunter2").then(|| text.replace("hunter2", "***")))?;
            Ok::<_, BoxError>(Some(payload))
        });
    Chain::builder()
        .interceptor(only_root)
        .interceptor(redact)
        .build()
        .unwrap()
}

/// The whole program: trace and timeout outside, then authentication, then the guarded server.
fn app(calls: &Arc<AtomicUsize>) -> Router {
    async fn authenticate(mut request: Request, next: Next) -> Response {
        if let Some(user) = text(request.headers(), "authorization") {
            request.extensions_mut().insert(Principal::user(user));
        }
        next.run(request).await
    }
    let guarded = || guard(server(Arc::clone(calls)), InterceptorLayer::server_side(chain()));
    Router::new()
        .route_service("/mcp", guarded())
        .nest_service("/nested", guarded())
        .layer(middleware::from_fn(authenticate))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            Duration::from_secs(5),
        ))
        .layer(TraceLayer::new_for_http())
}

fn request(path: &str, user: &str, tool: &str) -> Request {
    let call = format!(
        r#"{{"jsonrpc":"2.0", "id":1.0, "method":"tools/call", "params":{{"name":"{tool}","x":1.10}}}}"#
    );
    Request::post(path)
        .header("host", "localhost:8080")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("authorization", user)
        .header("x-custom", "kept")
        .body(Body::from(call))
        .unwrap()
}

async fn json_of(response: Response) -> Value {
    assert_eq!(response.status(), StatusCode::OK);
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

#[tokio::test]
async fn the_server_gets_the_request_as_it_came_under_route_and_under_nest() {
    let calls = Arc::default();
    for path in ["/mcp", "/nested/mcp"] {
        let response = app(&calls).oneshot(request(path, "ann", "echo")).await.unwrap();
        assert_eq!(text(response.headers(), "mcp-session-id").as_deref(), Some("s1"));
        let result = &json_of(response).await["result"];
        assert_eq!(
            result,
            &json!({
                "principal": "ann",
                "path": "/mcp",
                "host": "localhost:8080",
                "custom": "kept",
                "body": r#"{"jsonrpc":"2.0", "id":1.0, "method":"tools/call", "params":{"name":"echo","x":1.10}}"#,
            })
        );
    }
}

#[tokio::test]
async fn interceptors_see_the_principal_of_an_outer_layer() {
    let calls = Arc::default();
    let blocked = json_of(app(&calls).oneshot(request("/mcp", "ann", "root")).await.unwrap()).await;
    assert_eq!(blocked["result"]["isError"], true);
    assert_eq!(calls.load(Ordering::SeqCst), 0, "the server was not called");
    let passed = json_of(
        app(&calls)
            .oneshot(request("/mcp", "root", "root"))
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(passed["result"]["principal"], "root");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn streams_are_guarded_too() {
    let response = app(&Arc::default())
        .oneshot(request("/mcp", "ann", "stream"))
        .await
        .unwrap();
    assert_eq!(
        text(response.headers(), "content-type").as_deref(),
        Some("text/event-stream")
    );
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(
        body.contains(r#"{"secret":"***"}"#) && !body.contains("hunter2"),
        "{body}"
    );
    assert!(body.contains(r#""principal":"ann""#), "{body}");
}

#[tokio::test]
async fn the_listen_stream_comes_through_and_a_refusal_of_the_server_too() {
    let bare = |method: &str| {
        Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .body(Body::empty())
            .unwrap()
    };
    let app = app(&Arc::default());
    let response = app.clone().oneshot(bare("GET")).await.unwrap();
    let first = response
        .into_body()
        .into_data_stream()
        .next()
        .await
        .unwrap()
        .unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    assert!(
        first.contains("id: 7") && first.contains("list_changed"),
        "{first}"
    );
    let response = app.oneshot(bare("DELETE")).await.unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_outside_and_a_deadline_inside_both_end_a_slow_call() {
    let response = app(&Arc::default())
        .oneshot(request("/mcp", "ann", "slow"))
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);

    let layers = ServiceBuilder::new()
        .deadline(Duration::from_secs(1))
        .layer(InterceptorLayer::server_side(chain()));
    let guarded = guard(server(Arc::default()), layers);
    let response = guarded.oneshot(request("/mcp", "ann", "slow")).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}

/// Before 2026-07-28 the end of an HTTP exchange cancels nothing: a server whose call is too late is told.
#[tokio::test(start_paused = true)]
async fn a_legacy_server_is_told_of_a_call_that_is_too_late_in_its_session() {
    let (told, mut notes) = tokio::sync::mpsc::unbounded_channel();
    let server = Router::new().fallback(move |headers: HeaderMap, Json(message): Json<Value>| {
        let told = told.clone();
        async move {
            if message["method"] == "notifications/cancelled" {
                told.send((
                    text(&headers, "mcp-session-id"),
                    text(&headers, "authorization"),
                    message,
                ))
                .unwrap();
                return StatusCode::ACCEPTED;
            }
            std::future::pending().await
        }
    });
    let guarded = guard(server, ServiceBuilder::new().deadline(Duration::from_secs(1)));
    let mut call = request("/mcp", "ann", "slow");
    call.headers_mut().insert("mcp-session-id", "s1".parse().unwrap());
    let response = guarded.oneshot(call).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    let (session, user, message) = tokio::time::timeout(Duration::from_secs(60), notes.recv())
        .await
        .expect("it is told")
        .unwrap();
    assert_eq!((session.as_deref(), user.as_deref()), (Some("s1"), Some("ann")));
    assert_eq!(message["params"]["requestId"].to_string(), "1.0");
}

/// What is no HTTP can have such a server for its backend too.
#[tokio::test]
async fn the_backend_alone_serves_other_fronts() {
    use mcp_interceptors::{duplex, http::HttpBackend, message::Message};

    let server = Router::new().route("/", post(mcp)).with_state(Arc::default());
    let mut client = duplex::connect(HttpBackend::in_process(server));
    let answer = client.call(Message::bare_request(&1.into(), "tools/list")).await;
    let answer: Value = serde_json::from_str(answer.as_json()).unwrap();
    assert_eq!(
        (&answer["result"]["path"], &answer["result"]["host"]),
        (&json!("/"), &json!("localhost"))
    );
}
