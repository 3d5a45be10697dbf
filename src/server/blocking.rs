//! Interceptors that block the thread they run on.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use tokio::{sync::Semaphore, time::Instant};
use tower_service::Service;

use crate::{
    BoxError,
    interceptor::{Invocation, Outcome},
};

/// How many runs of one interceptor may block at a time, unless set.
const CAP: usize = 16;

/// Makes a function that blocks (it computes for long, or does I/O without `async`) the service of an interceptor.
///
/// It runs on a thread where it holds up nobody. Such a thread cannot be stopped: when the time is up the caller
/// gets its answer and the thread runs on, and it counts until it ends. At most 16 run at once unless
/// [set](Blocking::at_most); others wait, within their time.
///
/// ```
/// use mcp_interceptors::{interceptor::{Interceptor, Invocation, ValidationResult}, server::blocking};
///
/// let check = Interceptor::validator("check").on("tools/call").request().service(
///     blocking(|invocation: Invocation| -> Result<ValidationResult, std::io::Error> {
///         let denied = std::fs::read_to_string("denied-tools")?;
///         let is_denied = denied.lines().any(|tool| invocation.payload.as_json().contains(tool));
///         Ok(ValidationResult::from(!is_denied))
///     }).at_most(4),
/// );
/// ```
pub fn blocking<F, O, E>(run: F) -> Blocking
where
    F: Fn(Invocation) -> Result<O, E> + Send + Sync + 'static,
    O: Into<Outcome>,
    E: Into<BoxError>,
{
    Blocking {
        run: Arc::new(move |invocation| run(invocation).map(Into::into).map_err(Into::into)),
        free: Arc::new(Semaphore::new(CAP)),
        cap: CAP,
    }
}

type Run = dyn Fn(Invocation) -> Result<Outcome, BoxError> + Send + Sync;

/// A function that blocks, as a service; made by [`blocking`]. Clones share the cap.
#[derive(Clone)]
pub struct Blocking {
    run: Arc<Run>,
    free: Arc<Semaphore>,
    cap: usize,
}

impl Blocking {
    /// How many may run at once, those included whose caller has gone. At least one.
    #[must_use]
    pub fn at_most(mut self, cap: usize) -> Self {
        self.cap = cap.clamp(1, Semaphore::MAX_PERMITS);
        self.free = Arc::new(Semaphore::new(self.cap));
        self
    }

    /// How many run now, those included whose caller has gone.
    #[must_use]
    pub fn running(&self) -> usize {
        self.cap - self.free.available_permits()
    }
}

impl Service<Invocation> for Blocking {
    type Response = Outcome;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Outcome, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, invocation: Invocation) -> Self::Future {
        let (run, free) = (Arc::clone(&self.run), Arc::clone(&self.free));
        Box::pin(async move {
            let permit = free.acquire_owned().await?;
            let running = tokio::task::spawn_blocking(move || {
                // It may have waited for a thread until nobody wanted it any more.
                let outcome = match invocation.deadline.is_some_and(|at| at <= Instant::now()) {
                    true => Err("its time was up before it could start".into()),
                    false => run(invocation),
                };
                drop(permit);
                outcome
            });
            match running.await {
                Ok(outcome) => outcome,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(error) => Err(error.into()),
                },
            }
        })
    }
}

impl fmt::Debug for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking")
            .field("cap", &self.cap)
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
