//! The five calls, and how each must go.

use mcp_interceptors::{
    McpService,
    chain::Report,
    message::{Id, Message},
};
use serde::Serialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{secrets, server::Handled};
use crate::exit::Failure;

/// A call of the demonstration.
pub(super) struct Call {
    pub(super) title: &'static str,
    pub(super) request: Message,
    pub(super) expect: fn(&Message, &Seen) -> Result<&'static str, String>,
}

/// The name first, as people write it.
#[derive(Serialize)]
struct Params {
    name: &'static str,
    arguments: Value,
}

/// What there was to see of it.
pub(super) struct Seen {
    pub(super) reports: Vec<Report>,
    pub(super) server: Vec<Handled>,
    pub(super) answer: Message,
}

impl Seen {
    /// What the server got and answered; `None` when nothing reached it.
    pub(super) fn handled(&self) -> Option<&Handled> {
        self.server.first()
    }
}

pub(super) fn all() -> Result<Vec<Call>, Failure> {
    let call = |id: i64, name, arguments| request(id, "tools/call", &Params { name, arguments });
    let issue = format!("CI cannot push with {}", secrets::token());
    Ok(vec![
        Call {
            title: "a plain call",
            request: call(1, "echo", json!({"text": "hello"}))?,
            expect: |sent, seen| {
                untouched(sent, seen)?;
                Ok("passed both ways, byte for byte")
            },
        },
        Call {
            title: "a call with a secret in its arguments",
            request: call(2, "open_issue", json!({"text": issue}))?,
            expect: |sent, seen| {
                let handled = seen.handled().ok_or("the call did not reach the server")?;
                let redacted = sent.as_json().replace(&secrets::token(), "<redacted:github_pat>");
                same("the server got", handled.request.as_json(), &redacted)?;
                Ok("the server never saw the token; every other byte is the same")
            },
        },
        Call {
            title: "a call that is not allowed",
            request: call(3, "delete_file", json!({"path": "notes.txt"}))?,
            expect: |_, seen| {
                if seen.handled().is_some() {
                    return Err("the call reached the server".into());
                }
                let error = seen.answer.payload().get("/isError").ok().flatten();
                if error.and_then(|error| error.bool()) != Some(true) {
                    return Err("the client was not told".into());
                }
                Ok("stopped before the server; the model reads why")
            },
        },
        Call {
            title: "the list of tools",
            request: request(4, "tools/list", &json!({}))?,
            expect: |sent, seen| {
                untouched(sent, seen)?;
                Ok("passed both ways, byte for byte")
            },
        },
        Call {
            title: "an answer with a secret in it",
            request: call(5, "read_file", json!({"path": "deploy.conf"}))?,
            expect: |sent, seen| {
                let handled = seen.handled().ok_or("the call did not reach the server")?;
                same("the server got", handled.request.as_json(), sent.as_json())?;
                let said = handled.answer.as_json();
                let redacted = said.replace(&secrets::key(), "<redacted:aws_access_key>");
                if said == redacted {
                    return Err("the server's answer holds no secret".into());
                }
                same("the client got", seen.answer.as_json(), &redacted)?;
                Ok("the client never saw the key; every other byte is the same")
            },
        },
    ])
}

fn untouched(sent: &Message, seen: &Seen) -> Result<(), String> {
    let handled = seen.handled().ok_or("the call did not reach the server")?;
    same("the server got", handled.request.as_json(), sent.as_json())?;
    same("the client got", seen.answer.as_json(), handled.answer.as_json())
}

fn same(what: &str, is: &str, must: &str) -> Result<(), String> {
    if is == must {
        Ok(())
    } else {
        Err(format!("{what} {is}, and not {must}"))
    }
}

fn request(id: i64, method: &str, params: &impl Serialize) -> Result<Message, Failure> {
    Message::request(&Id::from(id), method, params).map_err(|error| Failure::new("a request", &error))
}

/// What a client says first.
pub(super) async fn handshake(stack: impl McpService) -> Result<(), Failure> {
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "demo", "version": env!("CARGO_PKG_VERSION")},
    });
    send(stack.clone(), request(0, "initialize", &hello)?).await?;
    let done = Message::notification("notifications/initialized", &json!({}));
    let done = done.map_err(|error| Failure::new("a notification", &error))?;
    let taken = stack.oneshot(done).await;
    taken
        .map(drop)
        .map_err(|error| Failure::new("the stack", &*error.into()))
}

/// Sends a request through the stack and waits for its answer.
pub(super) async fn send(stack: impl McpService, request: Message) -> Result<Message, Failure> {
    let reply = stack.oneshot(request).await;
    let reply = reply.map_err(|error| Failure::new("the stack", &*error.into()))?;
    let answer = reply.into_one(drop).await;
    answer
        .map_err(|error| Failure::new("the stack", &*error))?
        .ok_or_else(|| Failure::said("the stack gave no answer"))
}
