//! The life of a child process and its group.

use std::{pin::pin, process::ExitStatus, sync::Arc, time::Duration};

use futures::future::{Either, select};
use process_wrap::tokio::ChildWrapper;
use tokio::{
    io::AsyncRead,
    sync::watch,
    time::{sleep, timeout},
};

use crate::stdio::{
    frame::excerpt,
    lines::{Line, Lines},
    link::Watcher,
};

const MAX_STDERR_LINE: usize = 4096;

/// A child and all it has started. Dropped before it was ended, it is killed: when the runtime ends, its tasks
/// are dropped, and there is no time for anything kinder.
#[derive(Debug)]
pub(super) struct Group {
    child: Box<dyn ChildWrapper>,
    over: bool,
}

impl Group {
    pub(super) fn new(child: Box<dyn ChildWrapper>) -> Self {
        Self { child, over: false }
    }

    async fn exit(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    fn terminate(&mut self) {
        // The error says that there is nobody left.
        #[cfg(unix)]
        let _ = self.child.signal(SIGTERM);
        #[cfg(not(unix))]
        self.kill();
    }

    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}

#[cfg(unix)]
const SIGTERM: i32 = 15;

impl Drop for Group {
    fn drop(&mut self) {
        if !self.over {
            self.kill();
        }
    }
}

/// Waits for the child to exit, or makes it exit once its link is over; then cleans up what it has started.
pub(super) async fn supervise(
    mut group: Group,
    link: Watcher,
    wait: Duration,
    exit: watch::Sender<Option<ExitStatus>>,
) {
    let first = match select(pin!(group.exit()), pin!(link.gone())).await {
        Either::Left((status, _)) => Some(status),
        Either::Right(_) => None,
    };
    let status = match first {
        Some(status) => status,
        None => end(&mut group, &link, wait).await,
    };
    // Grandchildren may hold the pipes open, or just go on. They had their chance with the leader when they
    // exit on SIGTERM.
    group.terminate();
    let _ = timeout(wait, link.gone()).await;
    group.kill();
    group.over = true;
    link.die();
    tracing::debug!(target: "mcp_interceptors::child", ?status, "a server process has exited");
    let _ = exit.send(status);
}

/// The link is over but the child is not.
async fn end(group: &mut Group, link: &Watcher, wait: Duration) -> Option<ExitStatus> {
    // A link that was closed has already waited; one whose server closed its output has not.
    if !link.was_closed()
        && let Some(status) = exits_within(group, wait).await
    {
        return status;
    }
    group.terminate();
    if let Some(status) = exits_within(group, wait).await {
        return status;
    }
    group.kill();
    group.exit().await
}

async fn exits_within(group: &mut Group, wait: Duration) -> Option<Option<ExitStatus>> {
    match select(pin!(group.exit()), pin!(sleep(wait))).await {
        Either::Left((status, _)) => Some(status),
        Either::Right(_) => None,
    }
}

/// What a server says about itself, for the operator. It is no sign of failure.
pub(super) async fn log_stderr<R: AsyncRead + Unpin>(server: Arc<str>, stderr: R) {
    let mut lines = Lines::new(stderr, MAX_STDERR_LINE);
    while let Ok(Some(line)) = lines.next().await {
        let (Line::Whole(text) | Line::TooLong(text)) = &line;
        let text = excerpt(text, MAX_STDERR_LINE);
        let cut = if matches!(line, Line::TooLong(_)) {
            "…"
        } else {
            ""
        };
        tracing::info!(target: "mcp_interceptors::child", %server, "{text}{cut}");
    }
}
