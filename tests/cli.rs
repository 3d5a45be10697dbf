//! The program from outside: its arguments, its exit codes, its output, and its four ways of standing between
//! a client and a server.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-interceptors");
const DEADLINE: Duration = Duration::from_secs(60);

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

fn output(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn code(args: &[&str]) -> (Option<i32>, String) {
    let output = output(args);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A token that opens nothing.
fn token() -> String {
    ["gh", "p_", "abcdefghijklmnopqrstuvwxyz0123"].concat()
}

/// A process that is ended with the test.
struct Running {
    child: Option<Child>,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self {
            child: Some(child),
            lines,
        }
    }

    /// Starts something that listens; with it, where.
    fn listening(args: &[&str]) -> (Self, String) {
        let mut command = program(args);
        command.stdout(Stdio::null());
        let running = Self::start(command);
        let line = running.line_with("listening on ");
        let url = line.split_once("listening on ").unwrap().1.to_owned();
        (running, url)
    }

    fn line_with(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(DEADLINE).unwrap();
            if line.contains(text) {
                return line;
            }
        }
    }

    fn ended(mut self) -> ExitStatus {
        let mut child = self.child.take().unwrap();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait().unwrap()));
        ended.recv_timeout(DEADLINE).unwrap()
    }

    #[cfg(unix)]
    fn terminate(self) -> ExitStatus {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.ended()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn call(id: i64, tool: &str, text: &str) -> String {
    let arguments = json!({"text": text, "path": text});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

fn initialize() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

/// A status and the whole answer.
fn request(
    url: &str,
    method: &str,
    path: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let (host, own_path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let path = path.map_or_else(|| format!("/{own_path}"), str::to_owned);
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// The JSON-RPC message in an answer, sent as JSON or as an event.
fn message(answer: &str) -> Value {
    let start = answer.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("{answer}"));
    serde_json::Deserializer::from_str(&answer[start..])
        .into_iter()
        .next()
        .unwrap()
        .unwrap()
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then_some(value)
    })
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

/// Answers by id of a client on stdio that sends one message after the other.
fn over_stdio(args: &[&str], messages: &[String]) -> (Vec<Value>, ExitStatus) {
    let mut command = program(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut answers = Vec::new();
    for message in messages {
        writeln!(stdin, "{message}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        answers.push(serde_json::from_str(&line).unwrap());
    }
    drop(stdin);
    (answers, child.wait().unwrap())
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{name}", std::process::id()))
}

#[test]
fn the_demo_shows_five_calls_and_checks_itself() {
    let output = output(&["demo"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for shown in [
        "1 of 5: a plain call",
        "2 of 5: a call with a secret in its arguments",
        "3 of 5: a call that is not allowed",
        "4 of 5: the list of tools",
        "5 of 5: an answer with a secret in it",
        "REDACTED 1 (github_pat)",
        "REDACTED 1 (aws_access_key)",
        "BLOCKED: the tool \"delete_file\"",
        "server got    nothing",
        "All five calls went as they must.",
    ] {
        assert!(text.contains(shown), "{shown}:\n{text}");
    }
    assert_eq!(text.matches('✓').count(), 5, "{text}");
    assert!(!text.contains('\u{1b}'), "colours are for terminals: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(output.stderr.is_empty(), "{:?}", String::from_utf8(output.stderr));
}

#[test]
fn help_and_version_are_no_failures() {
    for args in [
        &["--help"][..],
        &["proxy", "--help"],
        &["demo", "--help"],
        &["--version"],
    ] {
        assert!(output(args).status.success(), "{args:?}");
    }
    let help = String::from_utf8(output(&["proxy", "--help"]).stdout).unwrap();
    for flag in [
        "--listen",
        "--stdio",
        "--url",
        "--redact-secrets",
        "--deny-tool",
        "--audit-log",
        "--allow-remote",
    ] {
        assert!(help.contains(flag), "{flag}:\n{help}");
    }
}

#[test]
fn arguments_that_cannot_be_used_are_exit_code_2_and_say_why() {
    for (args, why) in [
        (&["nonsense"][..], "nonsense"),
        (&["demo", "--nonsense"], "--nonsense"),
        (&["proxy"], "--listen"),
        (&["proxy", "--stdio"], "--url"),
        (
            &[
                "proxy",
                "--stdio",
                "--listen",
                "127.0.0.1:0",
                "--url",
                "http://x/",
            ],
            "--stdio",
        ),
        (&["proxy", "--stdio", "--url", "ftp://x/"], "http://"),
        (
            &["proxy", "--stdio", "--", "no-such-program-here"],
            "no-such-program-here",
        ),
        (
            &["proxy", "--listen", "0.0.0.0:0", "--url", "http://x/"],
            "--allow-remote",
        ),
        (
            &["proxy", "--listen", "nonsense", "--url", "http://x/"],
            "nonsense",
        ),
        (
            &["proxy", "--stdio", "--url", "http://x/", "--audit-log", "/"],
            "--audit-log /",
        ),
        (&["demo", "--listen", "0.0.0.0:0"], "--allow-remote"),
    ] {
        let (code, said) = code(args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
    }
}

#[test]
fn an_address_that_is_taken_is_a_failure() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = code(&["proxy", "--listen", &address, "--url", "http://x/"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&address), "{said}");
}

#[test]
fn stdio_to_http_redacts_denies_and_records() {
    let (_server, url) = Running::listening(&["demo", "--listen", "127.0.0.1:0"]);
    let log = scratch("stdio-http.jsonl");
    let args = [
        "proxy",
        "--stdio",
        "--url",
        &url,
        "--redact-secrets",
        "--deny-tool",
        "delete_*",
        "--audit-log",
        log.to_str().unwrap(),
    ];
    let said = format!("see {}", token());
    let messages = [
        initialize(),
        call(1, "echo", &said),
        call(2, "delete_file", "notes"),
        call(3, "read_file", "x"),
    ];
    let (answers, status) = over_stdio(&args, &messages);
    assert!(status.success());
    assert_eq!(
        answers[0]["result"]["serverInfo"]["name"],
        "mcp-interceptors-demo"
    );
    assert_eq!(text_of(&answers[1]), "see <redacted:github_pat>");
    assert_eq!(answers[2]["result"]["isError"], true);
    assert!(text_of(&answers[3]).contains("<redacted:aws_access_key>"));

    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(!text.contains(&token()) && !text.contains("notes"), "{text}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // Both phases of three messages, and one of the blocked call.
    assert_eq!(lines.len(), 7, "{text}");
    let blocked: Vec<_> = lines.iter().filter(|line| !line["blocked"].is_null()).collect();
    assert_eq!(blocked.len(), 1);
    // The client can name the decision that the log has.
    let decision = blocked[0]["decisionId"].as_str().unwrap();
    assert!(text_of(&answers[2]).contains(decision), "{}", answers[2]);
    assert!(
        lines
            .iter()
            .any(|line| line["modified"] == true && line["phase"] == "request")
    );
}

#[test]
fn stdio_to_a_command() {
    let (_server, url) = Running::listening(&["demo", "--listen", "127.0.0.1:0"]);
    let args = [
        "proxy",
        "--stdio",
        "--deny-tool",
        "ech?",
        "--",
        PROGRAM,
        "proxy",
        "--stdio",
        "--url",
        &url,
    ];
    let messages = [initialize(), call(1, "echo", "x"), call(2, "open_issue", "x")];
    let (answers, status) = over_stdio(&args, &messages);
    assert!(status.success());
    assert_eq!(answers[1]["result"]["isError"], true);
    assert_eq!(text_of(&answers[2]), "opened issue 7: x");
}

#[test]
fn http_to_http_and_its_guards() {
    // The proxy relays `Origin`, so the server behind it must let the origin in as well.
    let origin = ["--allow-origin", "https://a.example"];
    let (_server, url) = Running::listening(&[&["demo", "--listen", "127.0.0.1:0"][..], &origin].concat());
    let args = [
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--url",
        &url,
        "--redact-secrets",
        "--allow-origin",
        "https://a.example",
    ];
    let (_proxy, url) = Running::listening(&args);
    assert!(
        url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"),
        "{url}"
    );
    let body = call(1, "echo", &token());
    let (status, answer) = request(&url, "POST", None, &[], &body);
    assert_eq!(
        (status, text_of(&message(&answer))),
        (200, "<redacted:github_pat>")
    );
    for (method, path, origin, expected) in [
        ("POST", "/", None, 404),
        ("POST", "/mcp/x", None, 404),
        ("PUT", "/mcp", None, 405),
        ("POST", "/mcp", Some("https://b.example"), 403),
        ("POST", "/mcp", Some("https://a.example"), 200),
    ] {
        let headers: Vec<_> = origin.iter().map(|origin| ("Origin", *origin)).collect();
        let (status, answer) = request(&url, method, Some(path), &headers, &body);
        assert_eq!(status, expected, "{method} {path} {origin:?}: {answer}");
    }
}

#[cfg(unix)]
#[test]
fn http_to_a_command_that_is_gone_after_a_signal() {
    let (_server, server) = Running::listening(&["demo", "--listen", "127.0.0.1:0"]);
    let (pid_file, log) = (scratch("pid"), scratch("child.jsonl"));
    let script = format!("echo $$ > \"$PID_FILE\"; exec \"{PROGRAM}\" proxy --stdio --url {server}");
    let variable = format!("PID_FILE={}", pid_file.display());
    let (proxy, url) = Running::listening(&[
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--audit-log",
        log.to_str().unwrap(),
        "--env",
        &variable,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let (status, answer) = request(&url, "POST", None, &[], &initialize());
    assert_eq!(status, 200, "{answer}");
    let session = header(&answer, "mcp-session-id").unwrap();
    let (status, answer) = request(
        &url,
        "POST",
        None,
        &[("Mcp-Session-Id", session)],
        &call(1, "echo", "x"),
    );
    assert_eq!((status, text_of(&message(&answer))), (200, "x"));

    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let lives = || {
        let kill = Command::new("kill")
            .args(["-0", pid.trim()])
            .stderr(Stdio::null())
            .status();
        kill.unwrap().success()
    };
    assert!(lives());
    assert_eq!(proxy.terminate().code(), Some(0));
    assert!(!lives(), "the child is still there");
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().count(), 4, "{lines}");
    std::fs::remove_file(pid_file).unwrap();
    std::fs::remove_file(log).unwrap();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_demo_and_the_proxy_on_stdio() {
    let (demo, url) = Running::listening(&["demo", "--listen", "127.0.0.1:0"]);
    let mut command = program(&["proxy", "--stdio", "--url", &url]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut proxy = Running::start(command);
    let child = proxy.child.as_mut().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    writeln!(stdin, "{}", initialize()).unwrap();
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    // Its stdin is still open.
    assert_eq!(proxy.terminate().code(), Some(0));
    drop(stdin);
    assert_eq!(demo.terminate().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn when_the_server_exits_so_does_the_proxy_on_stdio() {
    let mut command = program(&["proxy", "--stdio", "--", "sh", "-c", "read line; exit 3"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut proxy = Running::start(command);
    let child = proxy.child.as_mut().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    writeln!(stdin, "{}", initialize()).unwrap();
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["error"]["data"]["kind"], "backend_unavailable");
    assert!(proxy.line_with("has exited").contains('3'));
    assert_eq!(proxy.ended().code(), Some(1));
    drop(stdin);
}

#[test]
fn the_ready_made_interceptors_are_hosted_over_stdio_and_http() {
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"interceptors/list","params":{"event":"tools/call"}}"#;
    let invoke = |id: i64, name: &str, payload: &Value| {
        let params = json!({"name": name, "event": "tools/call", "phase": "request", "payload": payload});
        json!({"jsonrpc": "2.0", "id": id, "method": "interceptor/invoke", "params": params}).to_string()
    };
    let call = json!({"name": "rm_all", "arguments": {"key": token()}});
    let messages = [
        initialize(),
        list.to_owned(),
        invoke(3, "tool-policy", &call),
        invoke(4, "secret-redactor", &call),
    ];
    let (answers, status) = over_stdio(&["serve", "--stdio", "--deny-tool", "rm_*"], &messages);
    assert!(status.success());
    let result = |id: i64| &answers.iter().find(|answer| answer["id"] == id).unwrap()["result"];
    let listed = result(2)["interceptors"].as_array().unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["secret-redactor", "tool-policy"]);
    assert_eq!(result(3)["valid"], false);
    assert_eq!(result(4)["modified"], true);
    assert!(!result(4).to_string().contains(&token()));

    let (_running, url) = Running::listening(&["serve", "--listen", "127.0.0.1:0"]);
    let answer = message(&request(&url, "POST", None, &[], &invoke(5, "tool-policy", &call)).1);
    assert_eq!(answer["result"]["valid"], true, "{answer}");
}
