//! A message that did not come over HTTP: here the backend is the MCP client.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, future::Either};
use http::{HeaderMap, HeaderValue, header};

use super::{
    HttpBackend, HttpClient,
    answer::{self, Answer},
    follow,
    link::{Link, State},
    relay,
};
use crate::{
    BoxError,
    http::headers,
    message::{Era, Kind, Message},
    reply::{Body, Events, Reply},
};

const INITIALIZE: &str = "initialize";
const INITIALIZED: &str = "notifications/initialized";

pub(super) async fn call<C: HttpClient>(
    backend: HttpBackend<C>,
    message: Message,
) -> Result<Reply, BoxError> {
    let link = Link::of(message.exchange(), backend.shared.key);
    match message.kind() {
        Kind::Listen => Ok(Reply::many(follow::listen(backend, link, message))),
        Kind::End => end(backend, &link, message).await,
        Kind::Request if message.era() == Era::Modern => unless_cancelled(backend, link, message).await,
        // The way to cancel a modern call over HTTP is to close its exchange.
        Kind::Notification
            if message.method() == Some("notifications/cancelled") && link.state().is_modern() =>
        {
            Ok(Reply::accepted())
        }
        Kind::Request | Kind::Notification | Kind::Response | Kind::Error => {
            post(backend, link, message).await
        }
    }
}

/// Closes the exchange when the client cancels the call; nothing more is said of it then.
async fn unless_cancelled<C: HttpClient>(
    backend: HttpBackend<C>,
    link: Arc<Link>,
    message: Message,
) -> Result<Reply, BoxError> {
    let flag = message.exchange().cancellation().clone();
    let cancelled = Box::pin(async move { flag.cancelled().await });
    let answer = Box::pin(post(backend, link, message));
    match futures::future::select(answer, cancelled).await {
        Either::Right(_) => Ok(Reply::accepted()),
        Either::Left((reply, cancelled)) => {
            let Reply { body, extensions } = reply?;
            let body = match body {
                Body::Many(events) => Body::Many(Events::new(events.take_until(cancelled))),
                other @ (Body::Accepted | Body::One(_) | Body::Opaque(_)) => other,
            };
            Ok(Reply { body, extensions })
        }
    }
}

async fn post<C: HttpClient>(
    backend: HttpBackend<C>,
    link: Arc<Link>,
    message: Message,
) -> Result<Reply, BoxError> {
    let initialize = message.era() == Era::Legacy && message.is_request(INITIALIZE);
    let greeting = message.method() == Some(INITIALIZED);
    match (initialize, greeting) {
        (true, _) => link.begin(),
        (_, true) => link.greeting(true),
        _ => link.listening().await,
    }
    let reply = exchange(backend, &link, message, initialize).await;
    if greeting {
        match &reply {
            Ok(Reply {
                body: Body::Accepted, ..
            }) => link.initialized(),
            _ => link.greeting(false),
        }
    }
    reply
}

async fn exchange<C: HttpClient>(
    backend: HttpBackend<C>,
    link: &Arc<Link>,
    message: Message,
    initialize: bool,
) -> Result<Reply, BoxError> {
    let kind = message.kind();
    let headers = headers(&message, link);
    let deadline = backend.deadline(kind);
    let request = backend.request(relay::method(kind), headers, message.bytes().clone());
    let response = backend.send(request, deadline).await?;
    if initialize && response.status().is_success() {
        link.assigned(response.headers());
    }
    let limits = backend.shared.limits;
    let reply = match answer::read(response, kind, message.exchange(), limits, deadline).await? {
        Answer::Reply(reply) => Reply {
            body: match reply.body {
                Body::One(answer) => Body::One(named(answer, &message)),
                other @ (Body::Accepted | Body::Many(_) | Body::Opaque(_)) => other,
            },
            extensions: reply.extensions,
        },
        Answer::Stream(head, events) => {
            let events = follow::answer(backend, Arc::clone(link), &message, initialize, events);
            Reply::many(events).with_head(head)
        }
    };
    if let (true, Body::One(answer)) = (initialize, &reply.body) {
        link.negotiated(answer);
    }
    Ok(reply)
}

/// An error without an id, as a backend sends with a 400 or 404, answers the request of this exchange. On a pipe
/// nobody could tell.
fn named(answer: Message, request: &Message) -> Message {
    let (Kind::Error, None, Some(id)) = (answer.kind(), answer.id(), request.id()) else {
        return answer;
    };
    let error = answer.payload().as_json();
    let named = Message::parse(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
    match named {
        Ok(named) => named.with_exchange(Arc::clone(answer.exchange())),
        Err(_) => answer,
    }
}

/// Ends the session at the backend, where there is one.
async fn end<C: HttpClient>(
    backend: HttpBackend<C>,
    link: &Link,
    message: Message,
) -> Result<Reply, BoxError> {
    let state = link.end();
    if state.session.is_some() {
        let headers = in_session(&state, &relay::method(Kind::End));
        let deadline = backend.deadline(Kind::End);
        let request = backend.request(relay::method(Kind::End), headers, Bytes::new());
        let response = backend.send(request, deadline).await?;
        // A backend may well not let its sessions be ended (405).
        tracing::debug!(status = response.status().as_u16(), "session ended");
    }
    drop(message);
    Ok(Reply::accepted())
}

/// The headers of a request within the session.
pub(super) fn in_session(state: &State, method: &http::Method) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, relay::accepted(method));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(version) = state.version() {
        headers.insert(headers::PROTOCOL_VERSION, version.clone());
    }
    if let Some(session) = &state.session {
        headers.insert(headers::SESSION_ID, session.clone());
    }
    headers
}

fn headers(message: &Message, link: &Link) -> HeaderMap {
    let own_version = message
        .protocol_version()
        .and_then(|version| HeaderValue::from_str(version).ok());
    if let Some(version) = &own_version {
        link.modern(version);
    }
    let state = link.state();
    let mut headers = in_session(&state, &http::Method::POST);
    headers.insert(header::CONTENT_TYPE, headers::JSON);
    let modern = message.era() == Era::Modern || state.is_modern();
    if !modern {
        return headers;
    }
    headers.remove(headers::SESSION_ID);
    if let Some(version) = own_version {
        headers.insert(headers::PROTOCOL_VERSION, version);
    }
    if let Some(method) = message.method() {
        headers.insert(headers::METHOD, headers::encoded(method));
    }
    if let Some(name) = routing_name(message) {
        headers.insert(headers::NAME, name);
    }
    headers
}

/// What `Mcp-Name` says of a request.
fn routing_name(message: &Message) -> Option<HeaderValue> {
    match message.method()? {
        "tools/call" | "prompts/get" => message.name().map(headers::encoded),
        "resources/read" => message.uri().map(headers::encoded),
        // The extension for tasks routes by the task.
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            let id = message.payload().get("/taskId").ok()??;
            id.string().map(|id| headers::encoded(&id))
        }
        _ => None,
    }
}
