//! A server as a child process.

mod command;
mod environment;
mod process;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{
    fmt,
    process::ExitStatus,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use tokio::sync::watch;
use tower_service::Service;

use super::Link;
use crate::{
    BoxError,
    message::{Kind, Message},
    reply::Reply,
};

pub use command::ChildCommand;

/// A server that runs as a child process: a [`Link`] over its pipes, and the process behind it.
///
/// The process is its own group. It is ended in order when an `End` comes, when [`shutdown`](Self::shutdown) is
/// called, or when the last clone and the last reply are gone: its input is closed, then after a while the
/// group gets SIGTERM, then SIGKILL. It is killed at once when the runtime ends. If this process is killed
/// itself, the child sees the end of its input; a server is to exit then.
///
/// A child that has exited stays so: pending calls fail, later ones fail at once, nothing is restarted.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use mcp_interceptors::{message::{Id, Message}, stdio::ChildCommand};
/// use tower::ServiceExt;
///
/// let child = ChildCommand::new("my-mcp-server").arg("--quiet").env("API_KEY", "…").spawn()?;
/// let reply = child.clone().oneshot(Message::bare_request(&Id::from(1), "ping")).await?;
/// let answer = reply.into_one(drop).await?;
/// child.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ChildBackend {
    link: Link,
    process: Option<u32>,
    exited: watch::Receiver<Option<ExitStatus>>,
}

impl ChildBackend {
    /// A backend without a process, for tests of what is built on children.
    #[cfg(test)]
    pub(crate) fn without_process(link: Link) -> Self {
        Self {
            link,
            process: None,
            exited: watch::channel(None).1,
        }
    }

    /// The id of the process, which is the id of its group too.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process
    }

    /// The link over its pipes.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Whether calls fail at once, because the process has exited or is being ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Completes when the process has exited and its group has been cleaned up. `None` when its status got lost.
    pub async fn wait(&self) -> Option<ExitStatus> {
        let mut exited = self.exited.clone();
        match exited.wait_for(Option::is_some).await {
            Ok(status) => *status,
            Err(_) => None,
        }
    }

    /// Ends the process in order, and completes when it is gone.
    pub async fn shutdown(&self) -> Option<ExitStatus> {
        self.link.close();
        self.wait().await
    }
}

impl Service<Message> for ChildBackend {
    type Response = Reply;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Reply, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.link.poll_ready(cx)
    }

    fn call(&mut self, message: Message) -> Self::Future {
        if message.kind() == Kind::End {
            let child = self.clone();
            return Box::pin(async move {
                child.shutdown().await;
                Ok(Reply::accepted())
            });
        }
        self.link.call(message)
    }
}

impl fmt::Debug for ChildBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildBackend")
            .field("process", &self.process)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}
