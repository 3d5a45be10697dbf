//! The end that the user asks for.

use std::future::Future;

use crate::logging::PROGRAM;

/// Completes with the first Ctrl-C or SIGTERM; from now on those do not end the program by themselves. The
/// second one ends it at once.
pub(crate) fn shutdown() -> impl Future<Output = ()> + Send {
    let mut signals = Signals::new();
    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!(target: PROGRAM, "stopping; once more to stop at once");
        // The front may have gone already.
        let _ = stop.send(true);
        signals.next().await;
        std::process::exit(1);
    });
    async move {
        if stopped.wait_for(|stop| *stop).await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(unix)]
struct Signals([Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // One that cannot be listened for ends the program by itself.
        Self([
            signal(SignalKind::interrupt()).ok(),
            signal(SignalKind::terminate()).ok(),
        ])
    }

    async fn next(&mut self) {
        std::future::poll_fn(|cx| {
            let mut came = self.0.iter_mut().flatten().map(|signal| signal.poll_recv(cx));
            match came.any(|came| came.is_ready()) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
