//! Replays the interceptors working group's conformance fixtures: a request of JSON on each line of stdin, its answer
//! on the same line of stdout.
//!
//! * `createSession` hosts interceptors with behaviours from a fixed list;
//! * `list` and `invoke` ask the server, and show its answer as it is on the wire (without the time it took);
//! * `chain` runs them all, in the order of a client.
//!
//! ```text
//! → {"op":"createSession","interceptors":[{"name":"a","type":"validation","behavior":"deny-all","events":["*"]}]}
//! ← {"ok":true}
//! → {"op":"chain","event":"tools/call","phase":"request","payload":{}}
//! ← {"ok":true,"decision":"deny"}
//! ```

#[path = "conformance_adapter/behaviors.rs"]
mod behaviors;
#[path = "conformance_adapter/security.rs"]
mod security;
#[path = "conformance_adapter/session.rs"]
mod session;

use std::io::{BufRead, Write};

fn main() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut session = session::Session::default();
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = runtime.block_on(session.answer(&line));
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}
