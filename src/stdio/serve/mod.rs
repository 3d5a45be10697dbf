//! The stdio front: a client's lines into a stack, and everything that comes back as lines.

#[cfg(test)]
mod tests;

use std::{
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use futures::future::{Either, select};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    frame::{answered_id, frame_into, leading_id},
    lines::{Line, Lines},
};
use crate::{
    duplex::Dispatcher,
    message::{DEFAULT_MAX_BYTES, ErrorObject, Id, Message, ParseError},
    service::McpService,
};

const INTERNAL_ERROR: i64 = -32603;
/// A client that reads so little is not read from either.
const MAX_UNWRITTEN: usize = 16 * 1024 * 1024;
/// How many lines are taken before the replies have their turn.
const LINES_AT_ONCE: usize = 64;
/// How often all of it has its turn before other tasks have theirs.
const ROUNDS: usize = 64;

/// Serves a stack on this process's stdin and stdout until stdin ends or `shutdown` completes.
///
/// Standard output carries messages and nothing else: logs belong on stderr.
///
/// Tokio reads stdin on a thread that cannot be interrupted, so after a `shutdown` the runtime must not wait
/// for its threads: use `Runtime::shutdown_background`, or leave the process.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use mcp_interceptors::stdio::{self, ChildCommand};
///
/// let server = ChildCommand::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
/// let backend = server.spawn().map_err(std::io::Error::other)?;
/// stdio::serve(backend, std::future::pending()).await
/// # }
/// ```
///
/// # Errors
///
/// When stdin cannot be read or stdout cannot be written.
pub async fn serve<S, F>(service: S, shutdown: F) -> io::Result<()>
where
    S: McpService,
    F: Future<Output = ()>,
{
    StdioServer::new().serve(service, shutdown).await
}

/// Serves a stack on any two pipes: a socket, or an end of [`tokio::io::duplex`].
///
/// # Errors
///
/// When a pipe breaks.
pub async fn serve_on<R, W, S, F>(reader: R, writer: W, service: S, shutdown: F) -> io::Result<()>
where
    R: AsyncRead,
    W: AsyncWrite,
    S: McpService,
    F: Future<Output = ()>,
{
    StdioServer::new()
        .serve_on(reader, writer, service, shutdown)
        .await
}

/// The stdio front with its settings; [`serve`] and [`serve_on`] use the defaults.
///
/// ```
/// use std::time::Duration;
/// use mcp_interceptors::stdio::StdioServer;
///
/// let server = StdioServer::new().max_message_bytes(1 << 20).grace(Duration::from_secs(1));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct StdioServer {
    max_message_bytes: usize,
    grace: Duration,
}

impl Default for StdioServer {
    fn default() -> Self {
        Self {
            max_message_bytes: DEFAULT_MAX_BYTES,
            grace: Duration::from_secs(5),
        }
    }
}

impl StdioServer {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a line may be: 10 MiB unless set.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// How long running calls may go on once the client is gone (5 s unless set), and how long the stack may
    /// then take to end.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// As [`serve`].
    ///
    /// # Errors
    ///
    /// When stdin cannot be read or stdout cannot be written.
    pub async fn serve<S, F>(self, service: S, shutdown: F) -> io::Result<()>
    where
        S: McpService,
        F: Future<Output = ()>,
    {
        self.serve_on(tokio::io::stdin(), tokio::io::stdout(), service, shutdown)
            .await
    }

    /// As [`serve_on`].
    ///
    /// # Errors
    ///
    /// When a pipe breaks.
    pub async fn serve_on<R, W, S, F>(self, reader: R, writer: W, service: S, shutdown: F) -> io::Result<()>
    where
        R: AsyncRead,
        W: AsyncWrite,
        S: McpService,
        F: Future<Output = ()>,
    {
        let reader = pin!(reader);
        let writer = pin!(writer);
        // Tokio's budget would make a reply pending that is not, and so break the order.
        tokio::task::unconstrained(self.run(reader, writer, service, pin!(shutdown))).await
    }

    async fn run<R, W, S, F>(
        self,
        reader: Pin<&mut R>,
        writer: Pin<&mut W>,
        service: S,
        shutdown: Pin<&mut F>,
    ) -> io::Result<()>
    where
        R: AsyncRead,
        W: AsyncWrite,
        S: McpService,
        F: Future<Output = ()>,
    {
        let mut front = Front {
            lines: Lines::new(reader, self.max_message_bytes),
            limit: self.max_message_bytes,
            writer,
            dispatcher: Dispatcher::new(service),
            out: Vec::new(),
            written: 0,
            unflushed: false,
            reading: true,
        };
        front.dispatcher.keep_listening();
        let serving = pin!(poll_fn(|cx| front.poll(cx, |front| !front.reading)));
        let served = match select(serving, shutdown).await {
            Either::Left((served, _)) => served,
            Either::Right(_) => Ok(()),
        };
        front.reading = false;
        // What runs may finish, and then the stack is told: a server that was told first would drop its calls.
        // A client that cannot be written to waits for nothing.
        if served.is_ok() {
            front.for_at_most(self.grace).await;
        }
        front.dispatcher.end();
        front.for_at_most(self.grace).await;
        served
    }
}

struct Front<'a, R, W, S> {
    lines: Lines<Pin<&'a mut R>>,
    limit: usize,
    writer: Pin<&'a mut W>,
    dispatcher: Dispatcher<S>,
    out: Vec<u8>,
    written: usize,
    unflushed: bool,
    reading: bool,
}

impl<R: AsyncRead, W: AsyncWrite, S: McpService> Front<'_, R, W, S> {
    /// Goes on without reading until nothing runs any more, or the time is over.
    async fn for_at_most(&mut self, time: Duration) {
        let idle = pin!(poll_fn(|cx| {
            self.poll(cx, |front| {
                front.dispatcher.is_idle() && front.out.is_empty() && !front.unflushed
            })
        }));
        let ended = tokio::time::timeout(time, idle).await;
        if let Ok(Err(error)) = ended {
            tracing::debug!(%error, "the client does not read any more");
        }
    }

    /// Reads, runs and writes until all of it waits.
    fn poll(&mut self, cx: &mut Context<'_>, done: impl Fn(&Self) -> bool) -> Poll<io::Result<()>> {
        for _ in 0..ROUNDS {
            self.poll_write(cx)?;
            let mut moved = self.reading && !self.dispatcher.is_full() && self.poll_read(cx)?;
            if let Poll::Ready(messages) = self.dispatcher.poll(cx, self.out.is_empty()) {
                moved = true;
                messages
                    .iter()
                    .for_each(|message| frame_into(&mut self.out, message));
            }
            if !moved {
                return if done(self) {
                    Poll::Ready(Ok(()))
                } else {
                    Poll::Pending
                };
            }
        }
        // A flood must not keep the thread for itself, and a shutdown has to be seen.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.writer.as_mut().poll_write(cx, &self.out[self.written..]) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(len) => self.written += len?,
                Poll::Pending => return Ok(()),
            }
            self.unflushed = true;
        }
        self.out.clear();
        self.out.shrink_to(64 * 1024);
        self.written = 0;
        if self.unflushed
            && let Poll::Ready(flushed) = self.writer.as_mut().poll_flush(cx)
        {
            flushed?;
            self.unflushed = false;
        }
        Ok(())
    }

    /// Whether anything was read.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for taken in 0..LINES_AT_ONCE {
            if self.out.len() - self.written > MAX_UNWRITTEN {
                return Ok(taken > 0);
            }
            match self.lines.poll_next(cx)? {
                Poll::Ready(Some(line)) => self.take(line),
                Poll::Ready(None) => {
                    self.reading = false;
                    return Ok(true);
                }
                Poll::Pending => return Ok(taken > 0),
            }
        }
        Ok(true)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(line) => match Message::parse_within(line.clone(), self.limit) {
                Ok(message) => self.dispatcher.receive(message),
                Err(error) => self.refuse(answered_id(&line), error.id(), &error),
            },
            Line::TooLong(start) => {
                let error = ParseError::too_large(self.limit);
                let (answered, id) = match leading_id(&start) {
                    Some((id, true)) => (Some(id), None),
                    Some((id, false)) => (None, Some(id)),
                    None => (None, None),
                };
                self.refuse(answered, id.as_ref(), &error);
            }
        }
    }

    /// The sender of a bad message is told. A bad *answer* is none of the client's calls, whatever its id: there
    /// it is the server that waits, and it gets an error in place of the answer.
    fn refuse(&mut self, answered: Option<Id>, id: Option<&Id>, error: &ParseError) {
        if let Some(answered) = answered {
            let error = ErrorObject::new(
                INTERNAL_ERROR,
                format!("the client's answer was refused: {error}"),
            );
            self.dispatcher.receive(Message::error(Some(&answered), &error));
        } else {
            let refusal = ErrorObject::new(error.code(), error.to_string());
            frame_into(&mut self.out, &Message::error(id, &refusal));
        }
    }
}
