//! The session of a server: started once for all that wait, and anew when it is lost.

use std::sync::{Arc, Mutex, PoisonError};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio::time::Instant;

use super::{
    ServerError, ServerErrorKind,
    negotiate::negotiate,
    open::{Opener, Settings},
    session::Session,
};

type Connecting = Shared<BoxFuture<'static, Result<Arc<Session>, ServerError>>>;

pub(super) struct Connect {
    pub(super) name: Arc<str>,
    pub(super) settings: Settings,
    opener: Opener,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Connecting>,
    /// When connecting failed last.
    failed: Option<Instant>,
    closed: bool,
}

impl Connect {
    pub(super) fn new(name: Arc<str>, settings: Settings, opener: Opener) -> Self {
        Self {
            name,
            settings,
            opener,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of now; connects where there is none. Connecting goes on when the one who asked first leaves.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<Session>, ServerError> {
        let connecting = self.current()?;
        connecting.await
    }

    fn current(self: &Arc<Self>) -> Result<Connecting, ServerError> {
        let mut state = self.lock();
        if state.closed {
            return Err(ServerError::new(
                &self.name,
                ServerErrorKind::Closed,
                "the connection was closed",
            ));
        }
        match state.current.as_ref().map(|current| (current, current.peek())) {
            Some((current, None)) => return Ok(current.clone()),
            Some((current, Some(Ok(session)))) if !session.is_dead() => return Ok(current.clone()),
            Some((current, Some(Err(_))))
                if state
                    .failed
                    .is_some_and(|at| at.elapsed() < self.settings.retry_delay) =>
            {
                return Ok(current.clone());
            }
            _ => {}
        }
        let this = Arc::clone(self);
        let connecting = async move {
            let session = negotiate(&this.name, &this.opener, &this.settings).await;
            match &session {
                Ok(session) => tracing::debug!(?session, "connected to an interceptor server"),
                Err(error) => {
                    tracing::warn!(%error, "cannot connect to an interceptor server");
                    this.lock().failed = Some(Instant::now());
                }
            }
            session.map(Arc::new)
        };
        let connecting = connecting.boxed().shared();
        // Whoever asked first may leave.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(connecting.clone());
        }
        state.current = Some(connecting.clone());
        Ok(connecting)
    }

    /// That session is of no use any more.
    pub(super) fn lost(&self, session: &Arc<Session>) {
        let mut state = self.lock();
        let is_current = state
            .current
            .as_ref()
            .and_then(Shared::peek)
            .is_some_and(|current| matches!(current, Ok(current) if Arc::ptr_eq(current, session)));
        if is_current {
            state.current = None;
            drop(state);
            // Else a process that only its output has left would stay.
            let session = Arc::clone(session);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { session.close().await });
            }
        }
    }

    /// Closes for good. What was handed in stays open.
    pub(super) async fn close(&self) {
        let current = {
            let mut state = self.lock();
            state.closed = true;
            state.current.take()
        };
        if let Some(current) = current
            && let Ok(session) = current.await
        {
            session.close().await;
        }
    }

    /// The session, if there is one now.
    pub(super) fn connected(&self) -> Option<Arc<Session>> {
        let state = self.lock();
        state.current.as_ref()?.peek()?.as_ref().ok().cloned()
    }
}
