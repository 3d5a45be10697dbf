//! One connection that has been negotiated, and calls on it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use tower::ServiceExt;

use super::{
    ServerError, ServerErrorKind,
    negotiate::meta,
    open::{Opened, Transport},
};
use crate::{
    message::{Connection, Era, ErrorObject, Exchange, Id, Kind, Message, Payload},
    reply::Reply,
};

const METHOD_NOT_FOUND: i64 = -32601;

/// A transport with what is known of the server behind it.
pub(super) struct Session {
    pub(super) server: Arc<str>,
    pub(super) era: Era,
    pub(super) version: Box<str>,
    /// The server's `capabilities`, as JSON.
    pub(super) capabilities: Box<str>,
    wire: Wire,
}

/// A transport on which nothing has been agreed yet.
pub(super) struct Wire {
    opened: Opened,
    connection: Arc<Connection>,
    ids: AtomicI64,
}

/// Why a call failed, and what that says about the session.
pub(super) struct Failed {
    pub(super) error: ServerError,
    /// The session is of no use any more.
    pub(super) lost: bool,
    /// The server has certainly not acted on the message.
    pub(super) not_taken: bool,
}

impl Wire {
    pub(super) fn new(opened: Opened) -> Self {
        Self {
            opened,
            connection: Arc::new(Connection::new()),
            ids: AtomicI64::new(1),
        }
    }

    pub(super) fn agreed(self, server: &Arc<str>, era: Era, version: &str, capabilities: &str) -> Session {
        Session {
            server: Arc::clone(server),
            era,
            version: version.into(),
            capabilities: capabilities.into(),
            wire: self,
        }
    }

    fn exchange(&self) -> Arc<Exchange> {
        Arc::new(Exchange::new().with_connection(Arc::clone(&self.connection)))
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the call, where `cancel` says so
    /// with a notification: the transport's own means, a closed exchange, is not enough in the legacy era.
    pub(super) async fn call<T: Serialize + ?Sized>(
        &self,
        server: &Arc<str>,
        method: &str,
        params: &T,
        cancel: bool,
    ) -> Result<Message, Failed> {
        let id = Id::from(self.ids.fetch_add(1, Ordering::Relaxed));
        let exchange = self.exchange();
        let request = Message::request(&id, method, params)
            .map_err(|error| Failed::here(ServerError::malformed(server, error)))?
            .with_exchange(Arc::clone(&exchange));
        let mut guard = CancelGuard {
            transport: self.opened.transport.clone(),
            id: id.clone(),
            exchange,
            notify: cancel,
            armed: true,
        };
        let transport = self.opened.transport.clone();
        let reply = transport.oneshot(request).await;
        let answer = self.answer(server, &id, reply).await;
        guard.armed = false;
        answer
    }

    async fn answer(
        &self,
        server: &Arc<str>,
        id: &Id,
        reply: Result<Reply, crate::BoxError>,
    ) -> Result<Message, Failed> {
        let reply = reply.map_err(|error| Failed::transport(server, &error))?;
        let status = reply.head().map(|head| head.status);
        let gone = status == Some(StatusCode::NOT_FOUND);
        let answer = reply.into_one(|event| {
            if let Some(asked) = event.message().filter(|message| message.kind() == Kind::Request) {
                self.refuse(asked);
            }
        });
        let answer = match answer.await {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                return Err(Failed {
                    error: ServerError::new(server, ServerErrorKind::Unavailable, "the answer never came"),
                    lost: true,
                    not_taken: false,
                });
            }
            Err(error) => {
                let error = match status {
                    Some(status) if !status.is_success() => ServerError::new(
                        server,
                        ServerErrorKind::Unavailable,
                        format_args!("HTTP status {}", status.as_u16()),
                    ),
                    _ => ServerError::transport(server, &error),
                };
                return Err(Failed {
                    error,
                    lost: true,
                    not_taken: gone,
                });
            }
        };
        if answer.kind() == Kind::Error {
            return Err(Failed {
                error: ServerError::answered(server, &answer),
                lost: gone,
                not_taken: gone,
            });
        }
        if answer.id().as_ref() != Some(id) {
            return Err(Failed::here(ServerError::malformed(
                server,
                "the answer to another request",
            )));
        }
        Ok(answer)
    }

    /// What the server asks while it answers: it is told that nobody here can say.
    fn refuse(&self, asked: &Message) {
        let answer = if asked.is_request("ping") {
            asked.answer(Ok(&json!({})))
        } else {
            asked.answer::<()>(Err(&ErrorObject::new(METHOD_NOT_FOUND, "method not found")))
        };
        if let Ok(answer) = answer {
            self.send(answer.with_exchange(self.exchange()));
        }
    }

    /// Sends what has no answer, beside everything else.
    fn send(&self, message: Message) {
        send(self.opened.transport.clone(), message);
    }

    /// Sends a notification, and waits until it is taken.
    pub(super) async fn notify(&self, server: &Arc<str>, method: &str) -> Result<(), Failed> {
        let message = Message::notification(method, &json!({}))
            .map_err(|error| Failed::here(ServerError::malformed(server, error)))?;
        let message = message.with_exchange(self.exchange());
        let taken = self.opened.transport.clone().oneshot(message).await;
        taken.map(drop).map_err(|error| Failed::transport(server, &error))
    }

    fn is_dead(&self) -> bool {
        self.opened.is_dead.as_ref().is_some_and(|is_dead| is_dead())
    }

    /// Closes what is ours.
    pub(super) async fn close(&self) {
        if self.opened.ours {
            let end = Message::end().with_exchange(self.exchange());
            if let Err(error) = self.opened.transport.clone().oneshot(end).await {
                tracing::debug!(%error, "closing a connection failed");
            }
        }
    }
}

impl Session {
    /// Whether the transport is known to have died.
    pub(super) fn is_dead(&self) -> bool {
        self.wire.is_dead()
    }

    pub(super) async fn close(&self) {
        self.wire.close().await;
    }

    /// Sends a request in the server's era.
    pub(super) async fn call<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Message, Failed> {
        if self.era == Era::Legacy {
            return self.wire.call(&self.server, method, params, true).await;
        }
        let params =
            modern(params).map_err(|error| Failed::here(ServerError::malformed(&self.server, error)))?;
        self.wire.call(&self.server, method, &params, false).await
    }
}

/// The params with what each request of the modern era says of its sender.
fn modern<T: Serialize + ?Sized>(params: &T) -> Result<Payload, crate::message::PayloadError> {
    let mut params = Payload::from_value(params)?;
    if params.get("/_meta")?.is_none() {
        params.set("/_meta", &meta())?;
        return Ok(params);
    }
    for (key, value) in meta().as_object().into_iter().flatten() {
        params.set(&format!("/_meta/{}", key.replace('/', "~1")), value)?;
    }
    Ok(params)
}

impl Failed {
    /// The message never left, or its answer is of no use; the session is.
    pub(super) fn here(error: ServerError) -> Self {
        Self {
            error,
            lost: false,
            not_taken: false,
        }
    }

    fn transport(server: &Arc<str>, error: &crate::BoxError) -> Self {
        Self {
            error: ServerError::transport(server, error),
            lost: true,
            not_taken: false,
        }
    }
}

fn send(transport: Transport, message: Message) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            if let Err(error) = transport.oneshot(message).await {
                tracing::debug!(%error, "a message could not be sent to an interceptor server");
            }
        });
    }
}

/// Tells the server when a call is dropped.
struct CancelGuard {
    transport: Transport,
    id: Id,
    exchange: Arc<Exchange>,
    notify: bool,
    armed: bool,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        self.exchange.cancellation().cancel();
        if !self.notify {
            return;
        }
        let params = format!(
            r#"{{"requestId":{},"reason":"not waited for any more"}}"#,
            self.id
        );
        let cancelled = Payload::from_json(params)
            .and_then(|params| Message::notification("notifications/cancelled", &params));
        if let Ok(cancelled) = cancelled {
            let mut exchange = Exchange::new();
            if let Some(connection) = self.exchange.connection() {
                exchange = exchange.with_connection(Arc::clone(connection));
            }
            send(
                self.transport.clone(),
                cancelled.with_exchange(Arc::new(exchange)),
            );
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("server", &self.server)
            .field("era", &self.era)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
