//! A message that came over HTTP goes on as it came.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::Full;

use super::{
    HttpBackend, HttpClient,
    answer::{self, Answer},
};
use crate::{
    BoxError,
    http::headers,
    message::{Exchange, HttpContext, Kind, Message},
    reply::{Events, Reply},
};

/// Where a relayed request came from, for a client that hands it on in the same process.
#[derive(Clone)]
pub(super) struct Relayed(pub(super) Arc<Exchange>);

pub(super) async fn call<C: HttpClient>(
    backend: HttpBackend<C>,
    message: Message,
) -> Result<Reply, BoxError> {
    let kind = message.kind();
    let method = method(kind);
    let headers = match message.exchange().http() {
        Some(http) => forwarded(http, &method),
        None => HeaderMap::new(),
    };
    let deadline = backend.deadline(kind);
    let mut request = backend.request(method, headers, message.bytes().clone());
    request
        .extensions_mut()
        .insert(Relayed(Arc::clone(message.exchange())));
    let response = backend.send(request, deadline).await?;
    let limits = backend.shared.limits;
    match answer::read(response, kind, message.exchange(), limits, deadline).await? {
        Answer::Reply(reply) => Ok(reply),
        Answer::Stream(head, events) => Ok(Reply::many(Events::new(events)).with_head(head)),
    }
}

pub(super) fn method(kind: Kind) -> Method {
    match kind {
        Kind::Request | Kind::Notification | Kind::Response | Kind::Error => Method::POST,
        Kind::Listen => Method::GET,
        Kind::End => Method::DELETE,
    }
}

fn forwarded(http: &HttpContext, method: &Method) -> HeaderMap {
    let mut headers = headers::end_to_end(&http.headers);
    headers.remove(header::HOST);
    // The front has already told the client to go on.
    headers.remove(header::EXPECT);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let own = http.method == method;
    if !own {
        // A layer answers the server inside the exchange of a GET, say: its headers were meant for something else.
        headers.remove(headers::LAST_EVENT_ID);
        headers.remove(header::CONTENT_TYPE);
    }
    if !own || !headers.contains_key(header::ACCEPT) {
        headers.insert(header::ACCEPT, accepted(method));
    }
    if method == Method::POST && !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(header::CONTENT_TYPE, headers::JSON);
    }
    headers
}

pub(super) fn accepted(method: &Method) -> HeaderValue {
    if method == Method::GET {
        headers::EVENT_STREAM
    } else {
        headers::JSON_OR_EVENT_STREAM
    }
}

impl<C> HttpBackend<C> {
    pub(super) fn request(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.shared.endpoint.clone();
        *request.headers_mut() = headers;
        request
    }
}
