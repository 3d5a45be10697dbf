//! What is known of a limited call.

use std::{sync::Arc, time::Duration};

use tower::ServiceExt;

use super::clock::{Clock, Late};
use crate::{
    BoxError, McpService,
    message::{Era, Exchange, Id, Message, Origin},
};

/// How long telling the backend may take.
const CANCEL_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Watch<S> {
    pub(super) clock: Clock,
    pub(super) origin: Origin,
    /// How to cancel it, where dropping it does not.
    cancel: Option<Cancel<S>>,
}

struct Cancel<S> {
    service: S,
    id: Id,
    exchange: Arc<Exchange>,
}

impl<S: McpService> Watch<S> {
    pub(super) fn new(service: &S, call: &Message, clock: Clock) -> Option<Self> {
        let by_message = call.era() == Era::Legacy && !call.is_request("initialize");
        Some(Self {
            clock,
            origin: Origin::of(call)?,
            cancel: call.id().filter(|_| by_message).map(|id| Cancel {
                service: service.clone(),
                id,
                exchange: Arc::clone(call.exchange()),
            }),
        })
    }

    /// Tells the backend that nobody waits any more. The call has been dropped already: a backend that has taken that
    /// for a cancel knows the id no more.
    pub(super) fn cancel(self, late: Late) {
        let Some(Cancel {
            service,
            id,
            exchange,
        }) = self.cancel
        else {
            return;
        };
        let json = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"{}"}}}}"#,
            late.reason()
        );
        // An id is JSON, and the reasons need no escapes.
        let (Ok(cancelled), Ok(runtime)) = (Message::parse(json), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let cancelled = cancelled.with_exchange(exchange);
        runtime.spawn(async move {
            match tokio::time::timeout(CANCEL_WITHIN, service.oneshot(cancelled)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    let error: BoxError = error.into();
                    tracing::debug!(%error, "a call could not be cancelled");
                }
                Err(_) => tracing::debug!("a call could not be cancelled in time"),
            }
        });
    }
}
