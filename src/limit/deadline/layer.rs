use std::time::Duration;

use tower_layer::Layer;

use super::Deadline;

/// Limits how long a call may take, and how long it may be silent, until its reply has ended.
///
/// A call that is too late ends with [`BackendError::timeout`](crate::proxy::BackendError::timeout), in the middle of
/// a stream too, and [`RescueLayer`](crate::rescue::RescueLayer) turns that into an answer (-32603, HTTP 504, `kind:
/// backend_timeout`). What the call waited for is dropped. Before 2026-07-28 the end of an HTTP exchange cancels
/// nothing, so a backend of that time is sent `notifications/cancelled` as well, in a task of its own;
/// `initialize`, which must not be cancelled, excepted.
///
/// Waiting for the inner service to be ready counts, so a limit inside cannot hold a call for good. Answers,
/// notifications, `Listen`, `End` and `subscriptions/listen` are not limited.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_interceptors::{
///     BoxError, ServiceBuilderExt, limit::DeadlineLayer, message::{Id, Message}, reply::Reply,
/// };
/// use tower::{ServiceBuilder, ServiceExt};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), BoxError> {
/// let minute = Duration::from_secs(60);
/// let service = ServiceBuilder::new()
///     .rescue()
///     .layer(DeadlineLayer::new().total(10 * minute).idle(minute))
///     .service_fn(|_: Message| std::future::pending::<Result<Reply, BoxError>>());
/// let reply = service.oneshot(Message::bare_request(&Id::from(1), "tools/list")).await?;
/// let answer = reply.into_one(drop).await?.unwrap();
/// assert_eq!(answer.payload().get("/message")?.unwrap().raw(), r#""the call was silent for too long""#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct DeadlineLayer {
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl DeadlineLayer {
    /// A layer that limits nothing yet.
    pub const fn new() -> Self {
        Self {
            total: None,
            idle: None,
        }
    }

    /// How long a call may take from its beginning to the end of its reply.
    pub const fn total(mut self, limit: Duration) -> Self {
        self.total = Some(limit);
        self
    }

    /// How long a call may be silent: from its beginning to the first message of its reply, and between two. An SSE
    /// comment is no message. The time in which nobody reads the reply does not count.
    pub const fn idle(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }
}

impl<S: Clone> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline::new(inner, self.total, self.idle)
    }
}
