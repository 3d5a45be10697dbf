//! The server of the demonstration.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_interceptors::{
    McpService,
    message::{ErrorObject, Kind, Message, Payload},
    reply::Reply,
};
use serde_json::{Value, json};

use super::secrets;

/// An MCP server in memory. It keeps what it got and what it said.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<Vec<Handled>>>);

/// A request, and the answer of the server.
pub(super) struct Handled {
    pub(super) request: Message,
    pub(super) answer: Message,
}

impl Server {
    pub(super) fn service(&self) -> impl McpService + use<> {
        let server = self.clone();
        tower::service_fn(move |message| {
            let reply = server.handle(message);
            async { Ok::<_, Infallible>(reply) }
        })
    }

    pub(super) fn take(&self) -> Vec<Handled> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn handle(&self, request: Message) -> Reply {
        if request.kind() != Kind::Request {
            return Reply::accepted();
        }
        let answer = match answer(&request) {
            Ok(result) => request.answer(Ok(&result)),
            Err(error) => request.answer::<Value>(Err(&error)),
        };
        // Values always serialise.
        let Ok(answer) = answer else {
            return Reply::accepted();
        };
        let mut handled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Under `--listen` nobody takes them away.
        if handled.len() >= 16 {
            handled.clear();
        }
        handled.push(Handled {
            request,
            answer: answer.clone(),
        });
        Reply::one(answer)
    }
}

fn answer(request: &Message) -> Result<Payload, ErrorObject> {
    match request.method() {
        Some("initialize") => json(initialize(request).to_string()),
        Some("ping") => json("{}".into()),
        Some("tools/list") => {
            let tools = [
                tool("echo", "Says what it is told", "text"),
                tool("open_issue", "Opens an issue", "text"),
                tool("read_file", "Reads a file", "path"),
                tool("delete_file", "Deletes a file", "path"),
            ];
            json(format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
        }
        Some("tools/call") => call(request),
        _ => Err(ErrorObject::new(-32601, "there is no such method here")),
    }
}

fn initialize(request: &Message) -> Value {
    const KNOWN: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    let asked = request.payload().get("/protocolVersion").ok().flatten();
    let asked = asked.and_then(|version| version.string());
    let version = asked.filter(|version| KNOWN.contains(&&**version));
    json!({
        "protocolVersion": version.as_deref().unwrap_or(KNOWN[0]),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "mcp-interceptors-demo", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tool(name: &str, description: &str, argument: &str) -> String {
    let schema =
        json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]});
    format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{schema}}}"#)
}

/// Members in the order of the text, as a person would write them.
fn json(text: String) -> Result<Payload, ErrorObject> {
    Payload::from_json(text).map_err(|_| ErrorObject::new(-32603, "the server has a bug"))
}

fn call(request: &Message) -> Result<Payload, ErrorObject> {
    let argument = |name: &str| {
        let found = request
            .payload()
            .get(&format!("/arguments/{name}"))
            .ok()
            .flatten();
        let text = found
            .and_then(|value| value.string())
            .map(|text| text.into_owned());
        text.ok_or_else(|| ErrorObject::new(-32602, format!("the argument {name:?} is missing")))
    };
    let text = match request.name() {
        Some("echo") => argument("text")?,
        Some("open_issue") => format!("opened issue 7: {}", argument("text")?),
        Some("read_file") => format!(
            "# {}\nregion = eu-1\nkey = {}\n",
            argument("path")?,
            secrets::key()
        ),
        Some("delete_file") => format!("deleted {}", argument("path")?),
        _ => return Err(ErrorObject::new(-32602, "there is no such tool here")),
    };
    json(format!(
        r#"{{"content":[{{"type":"text","text":{}}}]}}"#,
        Value::from(text)
    ))
}
