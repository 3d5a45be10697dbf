use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tower_layer::Layer;

use super::InFlight;

/// Limits how many calls run at a time. A call holds its place until its reply has ended or was dropped, also where
/// the reply is a stream.
///
/// A call that finds no place is refused: at once, or when it has waited as long as [`wait`](Self::wait) says. There
/// is no waiting without bound: a client that answers a server's request by making another call would wait for the
/// place that its first call holds. The refusal is tower's [`Overloaded`](tower::load_shed::error::Overloaded), which
/// [`RescueLayer`](crate::rescue::RescueLayer) turns into an answer (HTTP 503, `kind: overloaded`).
///
/// Answers, notifications, `Listen`, `End` and `subscriptions/listen` need no place and never wait.
///
/// ```
/// use mcp_interceptors::{
///     BoxError, ServiceBuilderExt, limit::InFlightLayer, message::{Id, Message}, reply::{Events, Reply},
/// };
/// use tower::{ServiceBuilder, ServiceExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let service = ServiceBuilder::new().rescue().layer(InFlightLayer::new(1)).service_fn(|_: Message| async {
///     Ok::<_, BoxError>(Reply::many(Events::new(futures::stream::pending::<Result<Message, BoxError>>())))
/// });
/// let call = |id: i64| Message::bare_request(&Id::from(id), "tools/call");
///
/// let running = service.clone().oneshot(call(1)).await?;
/// let refused = service.clone().oneshot(call(2)).await?.into_one(drop).await?.unwrap();
/// assert_eq!(refused.payload().get("/data/kind")?.unwrap().raw(), r#""overloaded""#);
///
/// drop(running);
/// service.oneshot(call(3)).await?; // a stream again
/// # Ok(())
/// # }
/// ```
///
/// All services of one layer, and of its clones, share the places.
#[derive(Clone, Debug)]
pub struct InFlightLayer {
    places: Arc<Semaphore>,
    wait: Duration,
}

impl InFlightLayer {
    /// At most so many calls at a time; one more is refused at once.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            wait: Duration::ZERO,
        }
    }

    /// Lets a call wait so long for a place.
    #[must_use]
    pub fn wait(mut self, longest: Duration) -> Self {
        self.wait = longest;
        self
    }

    /// How many places are free.
    #[must_use]
    pub fn available(&self) -> usize {
        self.places.available_permits()
    }
}

impl<S: Clone> Layer<S> for InFlightLayer {
    type Service = InFlight<S>;

    fn layer(&self, inner: S) -> InFlight<S> {
        InFlight::new(inner, Arc::clone(&self.places), self.wait)
    }
}
