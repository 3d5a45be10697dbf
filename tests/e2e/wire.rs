//! A client of a few lines that sends bodies as they are given and hands back messages byte for byte.

use std::io::Write;
use std::process::{ChildStdin, Command};
use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::process::{DEADLINE, Running};
use crate::world::{At, Target};

pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"e2e-raw","version":"1.0.0"}}}"#,
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// One connection to a server or a proxy.
pub(crate) enum Wire {
    Http(Http),
    Stdio(Stdio),
}

impl Wire {
    pub(crate) fn open(target: &Target) -> Result<Self, String> {
        match &target.at {
            At::Url(url) => Ok(Self::Http(Http::new(url)?)),
            At::Command(words) => Ok(Self::Stdio(Stdio::start(words)?)),
        }
    }

    pub(crate) fn handshake(&mut self) -> Result<(), String> {
        let answer: Value = serde_json::from_str(&self.request(INITIALIZE)?).map_err(|e| e.to_string())?;
        if answer["result"]["protocolVersion"] != "2025-11-25" {
            return Err(format!("no handshake: {answer}"));
        }
        self.notify(INITIALIZED)
    }

    /// Sends a request and returns the message that answers it.
    pub(crate) fn request(&mut self, body: &str) -> Result<String, String> {
        match self {
            Self::Http(http) => http.post(body)?.message(&id_of(body)?),
            Self::Stdio(stdio) => stdio.request(body),
        }
    }

    fn notify(&mut self, body: &str) -> Result<(), String> {
        match self {
            Self::Http(http) => {
                let answer = http.post(body)?;
                let accepted = answer.status == 202 && answer.body.is_empty();
                accepted
                    .then_some(())
                    .ok_or_else(|| format!("a notification got {} {}", answer.status, answer.body))
            }
            Self::Stdio(stdio) => stdio.send(body),
        }
    }

    /// Leaves as a client should: DELETE over HTTP, closed stdin otherwise.
    pub(crate) fn close(self) -> Result<(), String> {
        match self {
            Self::Http(http) => {
                let answer = http.send(Method::DELETE, "")?;
                (answer.status < 300)
                    .then_some(())
                    .ok_or_else(|| format!("DELETE got {}", answer.status))
            }
            Self::Stdio(Stdio { running, stdin }) => {
                drop(stdin);
                running.finish()
            }
        }
    }
}

fn id_of(message: &str) -> Result<Value, String> {
    let message: Value = serde_json::from_str(message).map_err(|e| format!("{e}: {message}"))?;
    Ok(message["id"].clone())
}

/// Whether this is the answer, and not a request of the server that happens to have the same id.
fn answers(message: &str, id: &Value) -> bool {
    serde_json::from_str::<Value>(message).is_ok_and(|m| m["id"] == *id && m.get("method").is_none())
}

pub(crate) struct Http {
    runtime: Runtime,
    url: http::Uri,
    session: Option<String>,
    /// Set and sent in place of, or beside, the usual headers.
    pub(crate) headers: Vec<(&'static str, String)>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    event_stream: bool,
    session: Option<String>,
}

impl Http {
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        Ok(Self {
            runtime,
            url: url.parse().map_err(|e| format!("{url}: {e}"))?,
            session: None,
            headers: Vec::new(),
        })
    }

    pub(crate) fn post(&mut self, body: &str) -> Result<Answer, String> {
        let answer = self.send(Method::POST, body)?;
        if answer.session.is_some() {
            self.session.clone_from(&answer.session);
        }
        Ok(answer)
    }

    /// One request on a connection of its own; the answer is read to its end, which must come.
    fn send(&self, method: Method, body: &str) -> Result<Answer, String> {
        let authority = self
            .url
            .authority()
            .ok_or("a URL without a host")?
            .as_str()
            .to_owned();
        let mut request = Request::builder().method(method).uri(self.url.path());
        let mut headers = vec![
            ("host", authority.clone()),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session.clone()));
            headers.push(("mcp-protocol-version", "2025-11-25".to_owned()));
        }
        headers.retain(|(name, _)| self.headers.iter().all(|(set, _)| set != name));
        for (name, value) in headers.iter().chain(&self.headers) {
            request = request.header(*name, value);
        }
        let request = request
            .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
            .map_err(|e| e.to_string())?;
        self.runtime.block_on(async {
            let exchange = tokio::time::timeout(DEADLINE, exchange(authority, request));
            exchange
                .await
                .map_err(|_| "no complete answer within the deadline")?
        })
    }
}

async fn exchange(authority: String, request: Request<Full<Bytes>>) -> Result<Answer, String> {
    let failed = |e: hyper::Error| format!("the exchange broke: {e:?}");
    let stream = tokio::net::TcpStream::connect(&authority)
        .await
        .map_err(|e| format!("{authority}: {e}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(failed)?;
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .and_then(|v| v.to_str().ok())
            .map(str::to_owned)
    };
    let (status, session) = (response.status().as_u16(), header("mcp-session-id"));
    let event_stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let body = response.into_body().collect().await.map_err(failed)?.to_bytes();
    connection.abort();
    let body = String::from_utf8(body.to_vec()).map_err(|e| e.to_string())?;
    Ok(Answer {
        status,
        body,
        event_stream,
        session,
    })
}

impl Answer {
    /// The message among this answer's that answers the request with this id.
    pub(crate) fn message(&self, id: &Value) -> Result<String, String> {
        let messages = if self.event_stream {
            event_data(&self.body)
        } else {
            vec![self.body.clone()]
        };
        let found = messages.into_iter().find(|message| answers(message, id));
        found.ok_or_else(|| format!("no answer to {id}; status {}, body:\n{}", self.status, self.body))
    }
}

/// The data of each event in a complete stream.
fn event_data(stream: &str) -> Vec<String> {
    let stream = stream.replace("\r\n", "\n");
    let events = stream.split("\n\n");
    let data = events.map(|event| {
        let fields = event.lines().filter_map(|line| line.strip_prefix("data:"));
        fields
            .map(|value| value.strip_prefix(' ').unwrap_or(value))
            .collect::<Vec<_>>()
            .join("\n")
    });
    data.filter(|data| !data.is_empty()).collect()
}

pub(crate) struct Stdio {
    running: Running,
    stdin: ChildStdin,
}

impl Stdio {
    fn start(words: &[String]) -> Result<Self, String> {
        let (program, arguments) = words.split_first().ok_or("an empty command")?;
        let mut running = Running::start(program, Command::new(program).args(arguments))?;
        let stdin = running.take_stdin().ok_or("no stdin")?;
        Ok(Self { running, stdin })
    }

    fn send(&mut self, line: &str) -> Result<(), String> {
        let sent = self
            .stdin
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.stdin.flush());
        sent.map_err(|e| format!("{e}; stderr:\n{}", self.running.stderr.so_far()))
    }

    fn request(&mut self, line: &str) -> Result<String, String> {
        let id = id_of(line)?;
        self.exchange(line, &format!("an answer to {id}"), |line| answers(line, &id))
    }

    /// Sends a line and returns the next error that comes back, whatever its id.
    pub(crate) fn error_after(&mut self, line: &str) -> Result<String, String> {
        let is_error =
            |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|m| m.get("error").is_some());
        self.exchange(line, "an error", is_error)
    }

    /// Sends a line and returns the first that comes after it and is wanted.
    fn exchange(&mut self, line: &str, what: &str, wanted: impl Fn(&str) -> bool) -> Result<String, String> {
        let seen = self.running.stdout.count();
        self.send(line)?;
        let pick = |line: &str| wanted(line).then(|| line.to_owned());
        let found = self.running.stdout.wait_from(seen, &format!("{what} came"), pick);
        found.map_err(|e| format!("{e}\nstderr:\n{}", self.running.stderr.so_far()))
    }
}

/// Waits for what the runtime of a test does in the background.
pub(crate) fn shut_down(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(5));
}
