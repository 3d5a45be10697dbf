//! Finding the child for a message.

use std::{
    fmt::Write as _,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{StreamExt, future::BoxFuture};
use http::{HeaderName, HeaderValue, StatusCode};
use tower::ServiceExt;
use tower_service::Service;

use super::{
    ChildPool, Inner, SESSION_HEADER, Sharing,
    table::{InUse, Owner, owner},
};
use crate::{
    BoxError,
    message::{Connection, Era, ErrorObject, Kind, Message},
    proxy::BackendError,
    reply::{Body, Events, Head, Reply},
};

const SESSION_NOT_FOUND: i64 = -32001;
const INVALID_REQUEST: i64 = -32600;
/// The first modern revision. Revisions are dates, and compare as text.
const MODERN: &[u8] = b"2026-07-28";
/// The revisions with sessions. Some clients name another one of these than they negotiated.
const LEGACY: [&[u8]; 4] = [b"2024-11-05", b"2025-03-26", b"2025-06-18", b"2025-11-25"];

impl Service<Message> for ChildPool {
    type Response = Reply;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Reply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        let pool = Arc::clone(&self.inner);
        Box::pin(async move { pool.route(message).await })
    }
}

impl Inner {
    async fn route(self: Arc<Self>, message: Message) -> Result<Reply, BoxError> {
        let exchange = Arc::clone(message.exchange());
        let owner = owner(exchange.principal());
        // A modern request may name a session all the same; it means nothing there.
        let modern = speaks_modern(&message);
        match (exchange.connection(), exchange.session()) {
            (Some(connection), None) => self.on_connection(connection, message).await,
            _ if modern => self.on_principal(owner, message).await,
            (_, Some(session)) => self.in_session(session, &owner, message).await,
            (None, None) if message.is_request("initialize") => self.initialize(owner, message).await,
            (None, None) => Ok(refusal(
                &message,
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "a session is needed: send `initialize` first",
            )),
        }
    }

    async fn on_connection(&self, connection: &Arc<Connection>, message: Message) -> Result<Reply, BoxError> {
        if message.kind() == Kind::End {
            let child = self.table().remove_connection(connection);
            if let Some(child) = child {
                child.shutdown().await;
            }
            return Ok(Reply::accepted());
        }
        let child = {
            let mut table = self.table();
            match table.connection(connection) {
                Some(child) => child,
                None => {
                    let child = (self.spawn)(Sharing::Own)?;
                    table.set_connection(connection, child.clone());
                    child
                }
            }
        };
        child.oneshot(message).await
    }

    async fn on_principal(self: &Arc<Self>, owner: Owner, message: Message) -> Result<Reply, BoxError> {
        match message.kind() {
            // Modern HTTP has neither; and the child is not one client's to end.
            Kind::Listen | Kind::End => {
                return Ok(refusal(
                    &message,
                    StatusCode::METHOD_NOT_ALLOWED,
                    INVALID_REQUEST,
                    "not in this revision",
                ));
            }
            Kind::Request | Kind::Notification | Kind::Response | Kind::Error => {}
        }
        let (child, usage) = {
            // Spawning does not wait, so under the lock it happens once for all who come.
            let mut table = self.table();
            match table.principal(&owner).filter(|(child, _)| !child.is_closed()) {
                Some(found) => found,
                None => {
                    self.reserve(&mut table)?;
                    let child = (self.spawn)(Sharing::Shared)?;
                    let usage = table.set_principal(owner, child.clone());
                    (child, usage)
                }
            }
        };
        let in_use = usage.start();
        Ok(held(child.oneshot(message).await?, in_use))
    }

    async fn in_session(&self, session: &str, owner: &Owner, message: Message) -> Result<Reply, BoxError> {
        let idle = self.settings().idle;
        let found = {
            let mut table = self.table();
            table.sweep(idle);
            table.session(session, owner)
        };
        let Some((child, usage)) = found else {
            return Ok(refusal(
                &message,
                StatusCode::NOT_FOUND,
                SESSION_NOT_FOUND,
                "session not found",
            ));
        };
        // A client that names another version than it agreed on would be misread by the server, which sees no header.
        let foreign = version(&message)
            .filter(|version| !LEGACY.contains(version) && !self.table().speaks(session, version));
        if foreign.is_some() {
            return Ok(refusal(
                &message,
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "this session does not speak that MCP-Protocol-Version",
            ));
        }
        match message.kind() {
            Kind::End => {
                self.table().close(session);
                child.shutdown().await;
                Ok(Reply::accepted().with_head(Head::new(StatusCode::NO_CONTENT)))
            }
            // Open for as long as the client likes, it is no use of the session.
            Kind::Listen => {
                usage.touch();
                child.oneshot(message).await
            }
            Kind::Request | Kind::Notification | Kind::Response | Kind::Error => {
                let in_use = usage.start();
                Ok(held(child.oneshot(message).await?, in_use))
            }
        }
    }

    async fn initialize(self: &Arc<Self>, owner: Owner, message: Message) -> Result<Reply, BoxError> {
        let session = new_session_id()?;
        let (child, usage) = {
            let mut table = self.table();
            self.reserve(&mut table)?;
            let child = (self.spawn)(Sharing::Own)?;
            let usage = table.open(Arc::clone(&session), child.clone(), owner);
            (child, usage)
        };
        let opening = Opening {
            pool: self,
            session: Some(&session),
        };
        let in_use = usage.start();
        let mut reply = child.oneshot(message).await?;
        if matches!(&reply.body, Body::One(answer) if answer.kind() == Kind::Error) {
            return Ok(reply);
        }
        if let Body::One(answer) = &reply.body
            && let Ok(Some(version)) = answer.payload().get("/protocolVersion")
            && let Some(version) = version.string()
        {
            self.table().negotiated(&session, &version);
        }
        opening.done();
        let mut head = reply.head().cloned().unwrap_or_default();
        let id = HeaderValue::from_str(&session)?;
        head.headers.insert(HeaderName::from_static(SESSION_HEADER), id);
        reply.extensions.insert(head);
        Ok(held(reply, in_use))
    }
}

/// A session of which the client has not been told. When that is where it ends, nobody could ever use it.
struct Opening<'a> {
    pool: &'a Inner,
    session: Option<&'a str>,
}

impl Opening<'_> {
    fn done(mut self) {
        self.session = None;
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session {
            self.pool.table().close(session);
        }
    }
}

/// Notifications and answers do not say which era they are of; over HTTP their header does.
fn speaks_modern(message: &Message) -> bool {
    match message.kind() {
        Kind::Request => message.era() == Era::Modern,
        _ => version(message).is_some_and(|version| is_date(version) && version >= MODERN),
    }
}

fn version(message: &Message) -> Option<&[u8]> {
    let headers = &message.exchange().http()?.headers;
    headers.get("mcp-protocol-version").map(HeaderValue::as_bytes)
}

fn is_date(text: &[u8]) -> bool {
    text.len() == MODERN.len()
        && text.iter().zip(MODERN).all(|(byte, like)| match like {
            b'-' => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// The child counts as used until the reply has ended.
fn held(reply: Reply, in_use: InUse) -> Reply {
    let Reply { body, extensions } = reply;
    let body = match body {
        Body::Many(events) => Body::Many(Events::new(events.map(move |event| {
            let _held = &in_use;
            event
        }))),
        other @ (Body::Accepted | Body::One(_) | Body::Opaque(_)) => other,
    };
    Reply { body, extensions }
}

fn refusal(message: &Message, status: StatusCode, code: i64, text: &str) -> Reply {
    let error = Message::error(message.id().as_ref(), &ErrorObject::new(code, text));
    Reply::one(error.with_exchange(Arc::clone(message.exchange()))).with_head(Head::new(status))
}

/// 128 bits from the system: a session id is a secret.
fn new_session_id() -> Result<Arc<str>, BackendError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        BackendError::unavailable("no random number for a session")
            .with_source(std::io::Error::other(error.to_string()))
    })?;
    let mut id = String::with_capacity(32);
    for byte in random {
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id.into())
}
