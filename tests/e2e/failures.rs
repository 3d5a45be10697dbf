//! What must not work, does not work in the agreed way, and leaves the next message and the next session unharmed.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::backend::{self, Backend};
use crate::process;
use crate::wire::{Http, INITIALIZE, Wire};
use crate::world::{self, Route, Server, World};

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"save","arguments":{}}}"#;

/// What is wrong, the message, the HTTP status, the code, the id in the answer.
fn bad_messages() -> [(&'static str, String, u16, i64, Value); 8] {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}"#,
        "[".repeat(200_000)
    );
    [
        (
            "cut off",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list""#.to_owned(),
            400,
            -32700,
            Value::Null,
        ),
        ("no JSON", "hello".to_owned(), 400, -32700, Value::Null),
        ("too deep, and cut off", deep, 400, -32600, json!(1)),
        ("an array", format!("[{CALL}]"), 400, -32600, Value::Null),
        ("a number", "12".to_owned(), 400, -32600, Value::Null),
        (
            "an id that is none",
            CALL.replace("\"id\":9", "\"id\":{}"),
            400,
            -32600,
            Value::Null,
        ),
        (
            "a key twice",
            CALL.replace("\"id\":9", "\"id\":9,\"method\":\"ping\""),
            400,
            -32600,
            json!(9),
        ),
        (
            "a name twice",
            CALL.replace("\"name\":\"save\"", "\"name\":\"a\",\"name\":\"b\""),
            400,
            -32600,
            json!(9),
        ),
    ]
}

fn check_error(what: &str, answer: &str, code: i64, id: &Value) -> Result<(), String> {
    let answer: Value = serde_json::from_str(answer).map_err(|e| format!("{what}: {e}: {answer}"))?;
    let error = &answer["error"];
    let says_why = error["message"]
        .as_str()
        .is_some_and(|message| !message.is_empty());
    // An id that cannot be read may be null or absent; indexing makes both null.
    let right = error["code"] == code && answer["id"] == *id && answer["jsonrpc"] == "2.0" && says_why;
    right
        .then_some(())
        .ok_or_else(|| format!("{what}: wanted {code} for id {id}, got {answer}"))
}

/// Each gets its error, nothing of it reaches the backend, and the call after it does.
pub(crate) fn bad_messages_go_no_further(world: &World) -> Result<(), String> {
    let backend = Backend::start("done")?;
    let target = world.listening_proxy(&["--url".to_owned(), backend.url.clone()], world::marker())?;
    let mut wire = Wire::open(&target)?;
    wire.handshake()?;
    let before = backend.bodies().len();
    for (what, message, status, code, id) in bad_messages() {
        let Wire::Http(http) = &mut wire else {
            return Err("not HTTP".to_owned());
        };
        let answer = http.post(&message)?;
        if answer.status != status {
            return Err(format!(
                "{what}: wanted status {status}, got {} {}",
                answer.status, answer.body
            ));
        }
        check_error(what, &answer.body, code, &id)?;
        let next = wire.request(CALL)?;
        if next != backend::call_answer(&json!(9), "done") {
            return Err(format!("after {what} the next call got {next}"));
        }
    }
    let reached = &backend.bodies()[before..];
    if let Some(other) = reached.iter().find(|body| *body != CALL) {
        return Err(format!("the backend got {other:.200}"));
    }
    refusals_of_http(target.url()?, &backend)?;
    wire.close()?;
    target.close()
}

/// What HTTP adds: a foreign origin, a foreign host, a wrong media type, a body beyond the limit.
fn refusals_of_http(url: &str, backend: &Backend) -> Result<(), String> {
    let before = backend.bodies().len();
    let long = CALL.replace("{}", &format!("{{\"x\":\"{}\"}}", "x".repeat(11 * 1024 * 1024)));
    let cases = [
        ("origin", "https://elsewhere.example", CALL, 403),
        ("host", "elsewhere.example", CALL, 403),
        ("content-type", "text/plain", CALL, 415),
        ("x-nothing", "special", long.as_str(), 413),
    ];
    for (header, value, body, status) in cases {
        let mut http = Http::new(url)?;
        http.headers.push((header, value.to_owned()));
        let answer = http.post(body)?;
        if answer.status != status {
            return Err(format!(
                "{header}: {value}: wanted {status}, got {} {}",
                answer.status, answer.body
            ));
        }
    }
    let reached = backend.bodies().len() - before;
    if reached == 0 {
        Ok(())
    } else {
        Err(format!("{reached} of them reached the backend"))
    }
}

/// The same on stdio, where only the line tells messages apart.
pub(crate) fn bad_lines_go_no_further(world: &World) -> Result<(), String> {
    let backend = Backend::start("done")?;
    let target = world.stdio_proxy(&["--url".to_owned(), backend.url.clone()], world::marker())?;
    let mut wire = Wire::open(&target)?;
    wire.handshake()?;
    // On a pipe nobody says that the handshake's notification has arrived.
    process::poll("the backend was greeted", process::DEADLINE, || {
        let greeted = |body: &String| body.contains("notifications/initialized");
        backend.bodies().iter().any(greeted).then_some(())
    })?;
    let before = backend.bodies().len();
    for (number, (what, message, _, code, id)) in bad_messages().into_iter().enumerate() {
        let Wire::Stdio(stdio) = &mut wire else {
            return Err("not stdio".to_owned());
        };
        check_error(what, &stdio.error_after(&message)?, code, &id)?;
        // Another id each time: the answer must be this one's.
        let next = wire.request(&CALL.replace("\"id\":9", &format!("\"id\":{}", 100 + number)))?;
        if next != backend::call_answer(&json!(100 + number), "done") {
            return Err(format!("after {what} the next call got {next}"));
        }
    }
    let reached = backend.bodies().len() - before;
    if reached != bad_messages().len() {
        return Err(format!("the backend got {:#?}", &backend.bodies()[before..]));
    }
    wire.close()?;
    target.close()
}

/// Nobody listens: the caller is told, with its id, and a backend that has come back is used.
pub(crate) fn backend_down(world: &World) -> Result<(), String> {
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(|e| e.to_string())?;
    let target = world.listening_proxy(
        &["--url".to_owned(), format!("http://{free}/mcp")],
        world::marker(),
    )?;
    for _ in 0..2 {
        let mut http = Http::new(target.url()?)?;
        let answer = http.post(INITIALIZE)?;
        if answer.status != 502 {
            return Err(format!(
                "wanted status 502, got {} {}",
                answer.status, answer.body
            ));
        }
        let message = answer.message(&json!("init"))?;
        check_error("no backend", &message, -32603, &json!("init"))?;
        check_kind(&message, "backend_unavailable")?;
    }
    target.close()
}

fn check_kind(message: &str, kind: &str) -> Result<(), String> {
    let message: Value = serde_json::from_str(message).map_err(|e| e.to_string())?;
    (message["error"]["data"]["kind"] == kind)
        .then_some(())
        .ok_or_else(|| format!("not of kind {kind}: {message}"))
}

/// A server that takes the handshake and dies at the first call: the call gets an error, and the next session works
/// just as far.
pub(crate) fn command_dies(world: &World) -> Result<(), String> {
    let (node, packages) = world.node()?;
    let marker = world::marker();
    let arguments = [
        "--",
        &node.to_string_lossy(),
        &packages.script("mortal_server.mjs").to_string_lossy(),
        &marker,
    ]
    .map(str::to_owned);
    let target = world.listening_proxy(&arguments, marker)?;
    for _ in 0..2 {
        let mut wire = Wire::open(&target)?;
        wire.handshake()
            .map_err(|e| format!("{e}\nthe proxy logged:\n{}", target.proxy_log()))?;
        let answer = wire.request(CALL)?;
        check_error("a dead server", &answer, -32603, &json!(9))?;
        check_kind(&answer, "backend_unavailable")?;
    }
    target.close()
}

/// Ctrl-C while a session is open: the proxy exits by itself, and its server with it.
pub(crate) fn interrupt_ends_children(world: &World) -> Result<(), String> {
    let target = world.target(Route::HttpToCommand, Server::Everything)?;
    let mut wire = Wire::open(&target)?;
    wire.handshake()?;
    process::wait_until_present(target.marker())?;
    // No DELETE: the session is open when the signal comes. Closing checks the rest.
    target.close()
}
