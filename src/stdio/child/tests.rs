//! Real processes: small shell scripts as servers.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};
use tower::ServiceExt;

use super::*;
use crate::{
    message::Id,
    proxy::{BackendError, BackendErrorKind},
    reply::Body,
};

const SOON: Duration = Duration::from_secs(10);

fn sh(script: &str) -> ChildCommand {
    ChildCommand::new("/bin/sh")
        .arg("-c")
        .arg(script)
        .shutdown_wait(Duration::from_millis(100))
}

fn ping() -> Message {
    Message::bare_request(&Id::from("p"), "ping")
}

async fn ask(child: &ChildBackend) -> Result<Message, BoxError> {
    let reply = timeout(SOON, child.clone().oneshot(ping())).await.unwrap()?;
    Ok(reply.into_one(drop).await?.expect("an answer"))
}

/// The process id that a script reports in its first notification.
async fn reported(child: &ChildBackend) -> u32 {
    let Body::Many(mut events) = child.clone().oneshot(Message::listen()).await.unwrap().body else {
        panic!()
    };
    let event = timeout(SOON, events.next()).await.unwrap().unwrap().unwrap();
    event
        .message()
        .unwrap()
        .payload()
        .get("/pid")
        .unwrap()
        .unwrap()
        .number()
        .unwrap()
        .parse()
        .unwrap()
}

#[cfg(target_os = "linux")]
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Without an init that reaps, an orphan stays a zombie.
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

/// There is no signal for the death of a process that is not ours: look until it is gone.
#[cfg(target_os = "linux")]
fn assert_gone(pid: u32) {
    let deadline = tokio::time::Instant::now() + SOON;
    while runs(pid) {
        assert!(tokio::time::Instant::now() < deadline, "process {pid} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const REPORT: &str =
    r#"sleep 1000 & echo "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"pid\":$!}}"; "#;
const ANSWER: &str = r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'; "#;

#[tokio::test]
async fn a_child_answers_and_exits_when_its_input_ends() {
    let child = sh(&format!("read line; {ANSWER} cat >/dev/null; exit 5"))
        .shutdown_wait(SOON)
        .spawn()
        .unwrap();
    assert_eq!(
        ask(&child).await.unwrap().as_json(),
        r#"{"jsonrpc":"2.0","id":"p","result":{}}"#
    );
    assert!(child.id().is_some() && !child.is_closed());
    let status = timeout(SOON, child.shutdown()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(5));
    assert!(child.is_closed());
}

/// Case 78: the tool calls `exit`.
#[tokio::test]
async fn case_78_exit_in_a_call_fails_it_at_once() {
    let child = sh("read line; exit 3").spawn().unwrap();
    for _ in 0..2 {
        let error = ask(&child).await.unwrap_err();
        assert_eq!(
            error.downcast_ref::<BackendError>().unwrap().kind(),
            BackendErrorKind::Unavailable
        );
    }
    assert_eq!(
        timeout(SOON, child.wait()).await.unwrap().unwrap().code(),
        Some(3)
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = ChildCommand::new("/no/such/server")
        .arg("secret")
        .spawn()
        .unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Unavailable);
    assert!(error.to_string().contains("/no/such/server") && !error.to_string().contains("secret"));
}

#[tokio::test]
async fn the_environment_is_an_allow_list() {
    // Cargo sets the first in this process.
    let script = r#"read line; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ours\":\"$CARGO_MANIFEST_DIR\",\"path\":\"${PATH:+set}\",\"added\":\"$ADDED\",\"dir\":\"$PWD\"}}""#;
    let child = sh(script).env("ADDED", "x").current_dir("/").spawn().unwrap();
    assert!(
        ask(&child)
            .await
            .unwrap()
            .as_json()
            .contains(r#"{"ours":"","path":"set","added":"x","dir":"/"}"#)
    );
    let child = sh(script).inherit_env("CARGO_MANIFEST_DIR").spawn().unwrap();
    assert!(
        ask(&child)
            .await
            .unwrap()
            .as_json()
            .contains(env!("CARGO_MANIFEST_DIR"))
    );
}

/// Case 76: what ignores the end of its input gets SIGTERM, what ignores that is killed.
#[tokio::test]
async fn case_76_a_stubborn_child_is_ended() {
    let note = r#"echo '{"jsonrpc":"2.0","method":"n","params":{"pid":0}}'; "#;
    let terminated = sh(&format!(
        "trap 'exit 7' TERM; {note} while :; do sleep 0.01; done"
    ))
    .spawn()
    .unwrap();
    reported(&terminated).await;
    assert_eq!(
        timeout(SOON, terminated.shutdown())
            .await
            .unwrap()
            .unwrap()
            .code(),
        Some(7)
    );
    let killed = sh(&format!("trap '' TERM; {note} while :; do sleep 0.01; done"))
        .spawn()
        .unwrap();
    reported(&killed).await;
    assert_eq!(
        timeout(SOON, killed.shutdown()).await.unwrap().unwrap().signal(),
        Some(9)
    );
}

/// Case 80: state is pipe state. A child that closes its output is over.
#[tokio::test]
async fn case_80_a_child_that_closes_its_output_is_over() {
    let child = sh("exec >&-; exec sleep 1000").spawn().unwrap();
    assert!(ask(&child).await.is_err());
    assert_eq!(
        timeout(SOON, child.wait()).await.unwrap().unwrap().signal(),
        Some(15)
    );
}

/// Cases 76 and 77: grandchildren go with the child, however it ends.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn case_76_77_grandchildren_are_gone() {
    let ended = sh(&format!("{REPORT} cat >/dev/null")).spawn().unwrap();
    let grandchild = reported(&ended).await;
    assert!(runs(grandchild));
    timeout(SOON, ended.clone().oneshot(Message::end()))
        .await
        .unwrap()
        .unwrap();
    assert_gone(grandchild);

    let crashed = sh(&format!("{REPORT} read line; exit 1")).spawn().unwrap();
    let grandchild = reported(&crashed).await;
    assert!(ask(&crashed).await.is_err());
    timeout(SOON, crashed.wait()).await.unwrap();
    assert_gone(grandchild);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_last_handle_ends_the_child() {
    let child = sh(&format!("{REPORT} exec sleep 1000")).spawn().unwrap();
    let grandchild = reported(&child).await;
    let mut exited = child.exited.clone();
    drop(child);
    timeout(SOON, exited.wait_for(Option::is_some))
        .await
        .unwrap()
        .unwrap();
    assert_gone(grandchild);
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_dies_with_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (child, grandchild) = runtime.block_on(async {
        let child = sh(&format!("{REPORT} exec sleep 1000")).spawn().unwrap();
        let grandchild = reported(&child).await;
        (child, grandchild)
    });
    drop(runtime);
    assert_gone(child.id().unwrap());
    assert_gone(grandchild);
}

#[derive(Clone, Default)]
struct Log(std::sync::Arc<(Mutex<Vec<u8>>, Notify)>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        self.0.1.notify_one();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stderr goes to the log, escaped and cut, and is no failure.
#[tokio::test]
async fn stderr_is_logged_line_by_line() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let script = format!(
        r#"printf 'a\033[31mb\n' >&2; head -c 9000 /dev/zero | tr '\0' x >&2; echo >&2; echo last >&2; read line; {ANSWER} read line"#
    );
    let child = sh(&script).name("tiny").spawn().unwrap();
    ask(&child).await.unwrap();
    timeout(SOON, async {
        while !log.text().contains("last") {
            log.0.1.notified().await;
        }
    })
    .await
    .unwrap();
    let text = log.text();
    assert!(
        text.contains("mcp_interceptors::child: a\\u{1b}[31mb server=tiny"),
        "{text}"
    );
    assert!(text.contains("xxx…") && text.len() < 9_000);
}
