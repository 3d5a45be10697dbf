//! A server of a few lines that records what reaches it.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::wire;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

type Record = Arc<Mutex<Vec<String>>>;

/// Listens on loopback until dropped.
pub(crate) struct Backend {
    runtime: Option<Runtime>,
    bodies: Record,
    pub(crate) url: String,
}

#[derive(Clone)]
struct Shared {
    bodies: Record,
    /// The text that every tool call is answered with.
    text: Arc<str>,
}

impl Backend {
    pub(crate) fn start(text: &str) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.map_err(|e| e.to_string())?;
        let bodies = Record::default();
        let shared = Shared {
            bodies: Arc::clone(&bodies),
            text: text.into(),
        };
        let router = Router::new().fallback(answer).with_state(shared);
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            runtime: Some(runtime),
            bodies,
            url: format!("http://{address}/mcp"),
        })
    }

    /// The bodies of all that was posted so far.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bodies of the tool calls so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        let is_call = |body: &String| {
            serde_json::from_str::<Value>(body).is_ok_and(|message| message["method"] == "tools/call")
        };
        self.bodies().into_iter().filter(is_call).collect()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            wire::shut_down(runtime);
        }
    }
}

async fn answer(State(shared): State<Shared>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    if method == Method::DELETE {
        return StatusCode::OK.into_response();
    }
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    let message: Value = serde_json::from_str(&text).unwrap_or_default();
    shared
        .bodies
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(text);
    let id = &message["id"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "recorder", "version": "1.0.0"},
        }),
        Some("tools/call") => return json_response(&headers, call_answer(id, &shared.text)),
        Some("ping") => json!({}),
        // Notifications and answers.
        _ if id.is_null() || message.get("method").is_none() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "not here"});
            return json_response(
                &headers,
                json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string(),
            );
        }
    };
    json_response(
        &headers,
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
    )
}

/// The bytes that a tool call is answered with.
pub(crate) fn call_answer(id: &Value, text: &str) -> String {
    let result = json!({"content": [{"type": "text", "text": text}]});
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// Every answer names the session, the caller's or the only one there is.
fn json_response(headers: &HeaderMap, body: String) -> Response {
    let session = headers
        .get(SESSION)
        .cloned()
        .unwrap_or(HeaderValue::from_static("recorded"));
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json), (SESSION, session)], body).into_response()
}
