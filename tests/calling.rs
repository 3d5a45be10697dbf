//! `list`, `invoke`, `chain` and `proxy --interceptor-cmd` against an interceptor server in shell.
#![cfg(unix)]

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

/// Speaks the legacy era over stdio: one validator that refuses what says `bad`.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"interceptors/list"'*) r='{"interceptors":[{"name":"guard","type":"validation","hooks":[{"events":["tools/call"],"phase":"request"}]}]}' ;;
    *'"interceptor/invoke"'*'bad'*) r='{"type":"validation","interceptor":"guard","phase":"request","valid":false,"severity":"error"}' ;;
    *'"interceptor/invoke"'*) r='{"type":"validation","interceptor":"guard","phase":"request","valid":true}' ;;
    *'"tools/call"'*) r='{"content":[]}' ;;
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"?"}}'; continue ;;
    *) continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$r"'}'
done
"#;

fn server() -> (tempdir::Dir, String) {
    let dir = tempdir::Dir::new();
    let path = dir.0.join("server.sh");
    std::fs::write(&path, SERVER).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

mod tempdir {
    use std::{
        path::PathBuf,
        sync::atomic::{AtomicU32, Ordering},
    };

    pub(super) struct Dir(pub(super) PathBuf);

    impl Dir {
        pub(super) fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let dir = std::env::temp_dir().join(format!("mcp-calling-{}-{number}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn run(args: &[&str], stdin: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-interceptors"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read it may be gone already.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn list_shows_what_a_server_has() {
    let (_dir, path) = server();
    let (code, out, err) = run(&["list", "--", "sh", &path], "");
    assert_eq!(
        (code, &*out),
        (0, "guard\tvalidation\tactive\trequest:tools/call\n"),
        "{err}"
    );
    let (code, out, _) = run(&["list", "--json", "--", "sh", &path], "");
    assert_eq!(code, 0);
    assert!(out.starts_with(r#"{"interceptors":[{"name":"guard""#), "{out}");
}

#[test]
fn invoke_says_with_its_exit_code_what_came_of_it() {
    let (_dir, path) = server();
    let asks = [
        "invoke",
        "guard",
        "--event",
        "tools/call",
        "--phase",
        "request",
        "--payload",
        "-",
        "--",
    ];
    let invoke = |payload, command: &[&str]| run(&[&asks, command].concat(), payload);
    let (code, out, err) = invoke(r#"{"text":"good"}"#, &["sh", &path]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.starts_with(r#"{"type":"validation","interceptor":"guard""#),
        "{out}"
    );
    assert_eq!(invoke(r#"{"text":"bad"}"#, &["sh", &path]).0, 1);
    assert_eq!(invoke("no json", &["sh", &path]).0, 2);
    assert_eq!(invoke("{}", &["sh", "-c", "exit 3"]).0, 2);
}

#[test]
fn chain_runs_all_servers() {
    let (_dir, path) = server();
    let line = format!("sh '{path}'");
    // Two servers need two names, which are their command lines.
    let other = format!("sh '{path}' again");
    let asks = [
        "chain",
        "--event",
        "tools/call",
        "--phase",
        "request",
        "--payload",
        "-",
    ];
    let args = [
        &asks[..],
        &["--interceptor-cmd", &line, "--interceptor-cmd", &other],
    ]
    .concat();
    let (code, out, err) = run(&args, r#"{"text": "good"}"#);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.matches("validation guard ran").count(), 2, "{out}");
    assert!(out.ends_with("{\"text\": \"good\"}\n"), "{out}");
    let (code, out, _) = run(&[&args[..], &["--json"]].concat(), r#"{"text":"bad"}"#);
    assert_eq!(code, 1);
    assert!(out.starts_with(r#"{"status":"validation_failed""#), "{out}");
    let broken = [
        &asks[..],
        &["--interceptor-cmd", &line, "--interceptor-cmd", "sh -c 'exit 1'"],
    ]
    .concat();
    assert_eq!(run(&broken, "{}").0, 2);
}

#[test]
fn a_proxy_asks_remote_interceptors_and_does_not_start_without_them() {
    let (_dir, path) = server();
    let line = format!("sh '{path}'");
    let call = |text: &str| {
        let stdin = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{text}\"}}}}\n"
        );
        run(
            &["proxy", "--stdio", "--interceptor-cmd", &line, "--", "sh", &path],
            &stdin,
        )
    };
    let (code, out, err) = call("good");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains(r#""result":{"content":[]}"#), "{out}");
    let (_, out, _) = call("bad");
    assert!(
        out.contains(r#""isError":true"#) && out.contains("guard"),
        "{out}"
    );
    let args = [
        "proxy",
        "--stdio",
        "--interceptor-cmd",
        "sh -c 'exit 1'",
        "--",
        "sh",
        &path,
    ];
    assert_eq!(run(&args, "").0, 1);
}
