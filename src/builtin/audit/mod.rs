//! A line of JSON for each decision.

mod line;
#[cfg(test)]
mod tests;
mod writer;

use std::{fmt, fs::OpenOptions, io, path::Path, sync::Arc};

use serde_json::json;

use super::clip;
use crate::{
    chain::{Observer, Report},
    interceptor::{Event, Interceptor, SinkResult},
    message::Payload,
};

use self::writer::Writer;

/// Writes a line of JSON for each decision of a chain: what was decided, by whom, and how long it took; never
/// what the message said.
///
/// It is two things. As an [`Observer`] it writes the lines, of what was blocked as well. As an interceptor, a
/// sink on requests and answers, it sees to it that each of them leaves a line, also those that no other
/// interceptor hooks, and adds which tool or prompt was called. Without the sink, and for notifications, there
/// are lines for what others hook alone.
///
/// ```
/// use mcp_interceptors::{builtin::AuditLog, chain::Chain};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = std::env::temp_dir().join(format!("audit-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("audit.jsonl");
/// let audit = AuditLog::open(&path)?;
/// let chain = Chain::builder().interceptor(audit.clone()).observer(audit.clone()).build()?;
/// // … and before the program ends:
/// chain.flush().await;
/// audit.flush().await;
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok(())
/// # }
/// ```
///
/// # A line
///
/// `time` (RFC 3339), `decisionId` (the id that the client is told of a block), `event`, `phase`, `status`,
/// `modified`, `durationMs`, `blocked` (`interceptor`, `kind`, `reason`), `interceptors` (each with `name`,
/// `server`, `type`, `mode`, `outcome`, `durationMs`, `failure`, `info`), `session` (how its id begins: whoever
/// knows the whole of it has the session) and `principal`; what is not known or does not apply is left out. Reasons, failures and `info` are the words of interceptors, and it is
/// for them not to quote what they see; `info` of remote ones is left out.
///
/// # Overload and failure
///
/// Lines are written by a thread of their own, in the order in which decisions are complete. What waits for it
/// is bounded; what finds no room, and what cannot be written, is [counted](Self::lost) and warned of at most
/// once a minute. Messages are never held up.
#[derive(Clone)]
pub struct AuditLog(Arc<Writer>);

impl AuditLog {
    /// Appends to this file and makes it where there is none, readable for its owner alone.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened for writing.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self::new(options.open(path)?))
    }

    /// Writes to anything. Each line is one call of `write_all`, followed by `flush` when no other waits.
    pub fn new(writer: impl io::Write + Send + 'static) -> Self {
        Self(Arc::new(Writer::new(Box::new(writer), writer::QUEUE_BYTES)))
    }

    /// Completes when every line that was handed over so far has been written, or has failed to be.
    pub async fn flush(&self) {
        self.0.flush().await;
    }

    /// How many lines were lost: there was no room, or writing failed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost()
    }
}

impl Observer for AuditLog {
    fn report(&self, report: &Report) {
        self.0.push(line::of(report));
    }
}

/// The sink that makes every request and answer leave a line.
impl From<AuditLog> for Interceptor {
    fn from(_: AuditLog) -> Self {
        Interceptor::sink("audit-log")
            .description("Makes every request and answer leave a line in the audit log")
            .on("*")
            .and("initialize")
            .and("server/discover")
            .both()
            .errors()
            .handler(note)
    }
}

/// What a line may say of the message itself: which tool or prompt it is about.
async fn note(Event(event): Event, phase: crate::interceptor::Phase, payload: Payload) -> SinkResult {
    let what = match &*event {
        "tools/call" => "tool",
        "prompts/get" => "prompt",
        _ => return SinkResult::recorded(),
    };
    let name = match phase {
        crate::interceptor::Phase::Request => payload.get("/name").ok().flatten(),
        crate::interceptor::Phase::Response => None,
    };
    match name.and_then(|name| name.string()) {
        Some(name) => SinkResult::recorded().with_info(json!({ what: clip(&name, line::MAX_NAME) })),
        None => SinkResult::recorded(),
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("lost", &self.lost()).finish()
    }
}
