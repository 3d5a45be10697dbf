use std::{
    io,
    sync::{Arc, Mutex, mpsc},
};

use serde_json::{Value, json};

use super::{AuditLog, writer::Writer};
use crate::{
    builtin::ToolPolicy,
    chain::Chain,
    interceptor::{ChainParams, Interceptor, MutationResult, Phase},
    message::Payload,
};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn audited(chain: crate::chain::ChainBuilder) -> (Chain, AuditLog, Buffer) {
    let buffer = Buffer::default();
    let audit = AuditLog::new(buffer.clone());
    let chain = chain
        .interceptor(audit.clone())
        .observer(audit.clone())
        .build()
        .unwrap();
    (chain, audit, buffer)
}

async fn run(chain: &Chain, event: &str, payload: Value) {
    chain
        .execute(ChainParams::new(event, Phase::Request, payload))
        .await;
    chain.flush().await;
}

#[tokio::test]
async fn each_decision_is_a_line_and_says_who_decided_what() {
    let note = Interceptor::mutator("note")
        .on("tools/call")
        .request()
        .handler(|| async {
            MutationResult::modified(json!({"name": "echo", "note": 1})).with_info(json!({"n": 1}))
        });
    let broken = Interceptor::validator("broken")
        .on("tools/call")
        .request()
        .fail_open()
        .handler(|| async { Err::<bool, _>("no disk") });
    let (chain, audit, buffer) = audited(
        Chain::builder()
            .interceptor(note)
            .interceptor(broken)
            .interceptor(ToolPolicy::new().deny("delete_*")),
    );
    run(&chain, "tools/call", json!({"name": "echo"})).await;
    run(&chain, "tools/list", json!({})).await;
    audit.flush().await;
    let lines = buffer.lines();
    assert_eq!(lines.len(), 2);
    let (call, list) = (&lines[0], &lines[1]);
    assert_eq!(
        (&call["event"], &call["phase"], &call["status"], &call["modified"]),
        (
            &json!("tools/call"),
            &json!("request"),
            &json!("success"),
            &json!(true)
        )
    );
    assert!(call["time"].as_str().unwrap().ends_with('Z'));
    assert!(call["durationMs"].is_number() && call["blocked"].is_null());
    let told: Vec<_> = call["interceptors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["name"], &entry["type"], &entry["outcome"]))
        .map(|(name, kind, outcome)| format!("{name} {kind} {outcome}").replace('"', ""))
        .collect();
    assert_eq!(
        told,
        [
            "note mutation modified",
            "broken validation failed",
            "tool-policy validation passed",
            "audit-log sink recorded"
        ]
    );
    assert_eq!(call["interceptors"][0]["info"], json!({"n": 1}));
    assert_eq!(call["interceptors"][1]["failure"], "failed: no disk");
    assert_eq!(call["interceptors"][3]["info"], json!({"tool": "echo"}));
    assert_eq!(list["interceptors"].as_array().unwrap().len(), 1);
    assert_eq!(audit.lost(), 0);
}

#[tokio::test]
async fn a_block_has_its_reason_and_the_payload_is_nowhere() {
    let (chain, audit, buffer) = audited(Chain::builder().interceptor(ToolPolicy::new().deny("delete_*")));
    run(
        &chain,
        "tools/call",
        json!({"name": "delete_\u{1b}\n", "arguments": {"x": "topsecret"}}),
    )
    .await;
    run(
        &chain,
        "tools/call",
        json!({"name": "echo", "arguments": {"x": "topsecret"}}),
    )
    .await;
    audit.flush().await;
    let text = buffer.text();
    assert!(!text.contains("topsecret") && !text.contains('\u{1b}'), "{text}");
    let lines = buffer.lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["status"], "validation_failed");
    assert_eq!(lines[0]["blocked"]["interceptor"], "tool-policy");
    assert_eq!(lines[0]["blocked"]["kind"], "blocked");
    assert_eq!(lines[0]["interceptors"][0]["outcome"], "blocked");
    assert_ne!(lines[0]["decisionId"], lines[1]["decisionId"]);
}

#[tokio::test]
async fn names_of_any_length_make_a_line_of_bounded_length() {
    let (chain, audit, buffer) = audited(Chain::builder());
    run(&chain, &"m".repeat(100_000), json!({})).await;
    run(&chain, "tools/call", json!({"name": "n".repeat(100_000)})).await;
    audit.flush().await;
    assert_eq!(buffer.lines().len(), 2);
    assert!(buffer.text().len() < 3_000);
}

/// Waits in each write until it is told to go on.
struct Gate(mpsc::Receiver<()>, Buffer);

impl io::Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.recv().map_err(io::Error::other)?;
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_nobody_waits() {
    let (open, gate) = mpsc::channel();
    let buffer = Buffer::default();
    let writer = Writer::new(Box::new(Gate(gate, buffer.clone())), 10);
    for line in ["aaaa\n", "bbbb\n", "cccc\n", "d\n"] {
        writer.push(line.into());
    }
    assert_eq!(writer.lost(), 2);
    open.send(()).unwrap();
    open.send(()).unwrap();
    writer.flush().await;
    assert_eq!(buffer.text(), "aaaa\nbbbb\n");
    writer.push("eeee\n".into());
    open.send(()).unwrap();
    writer.flush().await;
    assert_eq!((buffer.text().as_str(), writer.lost()), ("aaaa\nbbbb\neeee\n", 2));
}

/// Writes three bytes and fails, until it is mended.
struct Broken(Arc<Mutex<bool>>, Buffer);

impl io::Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (*self.0.lock().unwrap(), bytes.len()) {
            (true, 4..) => self.1.write(&bytes[..3]),
            (true, _) => Err(io::Error::other("full")),
            (false, _) => self.1.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn half_a_line_does_not_spoil_the_next() {
    let (broken, buffer) = (Arc::new(Mutex::new(true)), Buffer::default());
    let writer = Writer::new(Box::new(Broken(Arc::clone(&broken), buffer.clone())), 100);
    writer.push("12345\n".into());
    writer.flush().await;
    assert_eq!(writer.lost(), 1);
    *broken.lock().unwrap() = false;
    writer.push("whole\n".into());
    writer.flush().await;
    assert_eq!(buffer.text(), "123\nwhole\n");
}

#[tokio::test]
async fn a_file_is_appended_to_and_belongs_to_its_owner() {
    let path = std::env::temp_dir().join(format!("mcp-audit-test-{}.jsonl", std::process::id()));
    for _ in 0..2 {
        let audit = AuditLog::open(&path).unwrap();
        let chain = Chain::builder()
            .interceptor(audit.clone())
            .observer(audit.clone())
            .build()
            .unwrap();
        run(&chain, "tools/list", json!({})).await;
        audit.flush().await;
    }
    let text = std::fs::read_to_string(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(AuditLog::open(std::env::temp_dir()).is_err());
}

#[test]
fn a_payload_that_cannot_be_read_is_noted_without_its_name() {
    let payload = Payload::from_json(r#"{"name":"a","name":"b"}"#).unwrap();
    let noted = tokio_test::block_on(super::note(
        crate::interceptor::Event("tools/call".into()),
        Phase::Request,
        payload,
    ));
    assert!(noted.recorded && noted.info.is_none());
}
