//! The ready-made interceptors of the program, seen from both sides: what the backend got, what the caller got, and
//! what the audit file says.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::backend::{self, Backend};
use crate::wire::Wire;
use crate::world::{self, Target, World};

/// In two parts, so that no scanner takes this file for a leak. Nobody's key.
const SECRET: &str = concat!("sk_", "live_", "Qm7Tz0Xw4Hb9Ld2Rk6Vp1Ns8");

/// How the client reaches the proxy in front of the recording backend.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Front {
    Http,
    Stdio,
}

impl Front {
    pub(crate) const ALL: [Self; 2] = [Self::Http, Self::Stdio];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http_to_url",
            Self::Stdio => "stdio_to_url",
        }
    }
}

/// A session through a proxy with all three guards on, after its handshake.
struct Session {
    backend: Backend,
    target: Target,
    wire: Wire,
    audit: PathBuf,
}

impl Session {
    fn open(world: &World, front: Front, answer: &str) -> Result<Self, String> {
        let backend = Backend::start(answer)?;
        let marker = world::marker();
        let audit = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{marker}.jsonl"));
        let audit_file = audit.to_string_lossy();
        let guards = [
            "--redact-secrets",
            "--deny-tool",
            "danger_*",
            "--deny-tool",
            "exact",
            "--audit-log",
            &audit_file,
        ];
        let mut arguments = guards.map(str::to_owned).to_vec();
        arguments.extend(["--url".to_owned(), backend.url.clone()]);
        let target = match front {
            Front::Http => world.listening_proxy(&arguments, marker)?,
            Front::Stdio => world.stdio_proxy(&arguments, marker)?,
        };
        let mut wire = Wire::open(&target)?;
        wire.handshake()
            .map_err(|e| format!("{e}\nthe proxy logged:\n{}", target.proxy_log()))?;
        Ok(Self {
            backend,
            target,
            wire,
            audit,
        })
    }

    /// Ends the session and the proxy, so that the audit file is complete, and returns its records.
    fn close(self) -> Result<Vec<Value>, String> {
        self.wire.close()?;
        self.target.close()?;
        let text =
            std::fs::read_to_string(&self.audit).map_err(|e| format!("{}: {e}", self.audit.display()))?;
        std::fs::remove_file(&self.audit).map_err(|e| e.to_string())?;
        if text.contains(SECRET) {
            return Err(format!("the secret is in the audit file:\n{text}"));
        }
        let record = |line: &str| serde_json::from_str(line).map_err(|e| format!("not JSON ({e}): {line}"));
        text.lines().map(record).collect()
    }
}

/// A call whose every byte outside the secret is worth keeping: blanks, big and odd numbers, escapes, key order.
fn odd_call(id: &str, tool: &str, note: &str) -> String {
    format!(
        "{{ \"jsonrpc\" : \"2.0\",\"id\":{id}, \"method\":\"tools/call\" ,\"params\":{{\"name\":\"{tool}\",\"arguments\":\
         {{\"z\":12345678901234567890123,\"a\":1.10,\"e\":1e2,\"esc\":\"\\u00e9\\/\\ud834\\udd1e\",\"note\":\"{note}\",\
         \"last\":[ null,true ]}}}}}}"
    )
}

/// That `now` is `before` with the secret, and nothing but it, replaced.
fn only_secret_replaced(before: &str, now: &str) -> Result<(), String> {
    let (head, tail) = before.split_once(SECRET).ok_or("the test sent no secret")?;
    let kept = now.len() >= head.len() + tail.len() && now.starts_with(head) && now.ends_with(tail);
    if !kept {
        return Err(format!("other bytes changed:\n{now}\nit was\n{before}"));
    }
    let instead = &now[head.len()..now.len() - tail.len()];
    // Not a part of it either; what is left may at most tell its kind.
    if instead.is_empty()
        || SECRET.as_bytes()[8..]
            .windows(6)
            .any(|part| instead.as_bytes().windows(6).any(|w| w == part))
    {
        return Err(format!("in place of the secret stands {instead:?}"));
    }
    Ok(())
}

/// A call with a secret reaches the backend redacted, one without reaches it as it was sent.
pub(crate) fn redacts_requests(world: &World, front: Front) -> Result<(), String> {
    let mut session = Session::open(world, front, "done")?;
    let with_secret = odd_call("41", "save", &format!("the key is {SECRET} as of now"));
    let without = odd_call("\"plain\"", "save", "the key is under the mat");
    let answers = [
        session.wire.request(&with_secret)?,
        session.wire.request(&without)?,
    ];
    let expected = [
        backend::call_answer(&41.into(), "done"),
        backend::call_answer(&"plain".into(), "done"),
    ];
    if answers != expected {
        return Err(format!("the caller got {answers:#?}\nand not {expected:#?}"));
    }
    let calls = session.backend.calls();
    let [redacted, plain] = calls.as_slice() else {
        return Err(format!("the backend got {calls:#?}"));
    };
    only_secret_replaced(&with_secret, redacted)?;
    if *plain != without {
        return Err(format!(
            "a call without a secret changed:\n{plain}\nit was\n{without}"
        ));
    }
    session.close().map(drop)
}

/// The same the other way.
pub(crate) fn redacts_responses(world: &World, front: Front) -> Result<(), String> {
    let text = format!("the key is {SECRET} as of now");
    let mut session = Session::open(world, front, &text)?;
    let answer = session.wire.request(&odd_call("5", "load", "which key?"))?;
    only_secret_replaced(&backend::call_answer(&5.into(), &text), &answer)?;
    session.close().map(drop)
}

/// A denied tool never reaches the backend, and the caller gets a tool result that says so.
pub(crate) fn denies_tools(world: &World, front: Front) -> Result<(), String> {
    let mut session = Session::open(world, front, "done")?;
    // The name with an escape in it is the same name; the last two only look like what is denied.
    let denied = ["danger_delete", "danger_", "exact", "d\\u0061nger_zone"];
    let allowed = ["my_danger_delete", "exactly"];
    for (tool, id) in denied.into_iter().zip(1..) {
        let answer = session
            .wire
            .request(&odd_call(&format!("\"no-{id}\""), tool, "please"))?;
        let answer: Value = serde_json::from_str(&answer).map_err(|e| format!("{e}: {answer}"))?;
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        let refused =
            answer["id"] == format!("no-{id}") && answer["result"]["isError"] == true && !text.is_empty();
        if !refused || answer.get("error").is_some() {
            return Err(format!("{tool} was not refused by a tool result: {answer}"));
        }
    }
    let mut sent = Vec::new();
    for (tool, id) in allowed.into_iter().zip(77..) {
        sent.push(odd_call(&format!("{id}"), tool, "please"));
        let answer = session.wire.request(&sent[sent.len() - 1])?;
        if answer != backend::call_answer(&id.into(), "done") {
            return Err(format!("{tool} did not pass: {answer}"));
        }
    }
    let calls = session.backend.calls();
    if calls != sent {
        return Err(format!("the backend got {calls:#?}\nand not {sent:#?}"));
    }
    session.close().map(drop)
}

/// A line for the redacted call and one for the refused call, the latter with the decision id that the caller got.
pub(crate) fn audits(world: &World, front: Front) -> Result<(), String> {
    let mut session = Session::open(world, front, "done")?;
    session
        .wire
        .request(&odd_call("1", "save", &format!("the key is {SECRET} as of now")))?;
    let refusal = session.wire.request(&odd_call("2", "danger_delete", "please"))?;
    let records = session.close()?;
    let calls: Vec<_> = records
        .iter()
        .filter(|record| record.to_string().contains("tools/call"))
        .collect();
    if calls.len() < 2 {
        return Err(format!("not a line for each call: {records:#?}"));
    }
    let decisions: Vec<_> = calls
        .iter()
        .filter_map(|record| record["decisionId"].as_str())
        .collect();
    // The refusal names its decision, and so does a record of it.
    if !decisions.iter().any(|id| !id.is_empty() && refusal.contains(*id)) {
        return Err(format!(
            "no record has the decision id of\n{refusal}\namong {calls:#?}"
        ));
    }
    Ok(())
}
