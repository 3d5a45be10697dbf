//! A message that came over HTTP goes on as it came.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures::Stream;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::Full;

use super::{
    HttpBackend, HttpClient,
    answer::{self, Answer},
    events::EventBody,
    follow::is_garbage,
};
use crate::{
    BoxError,
    http::headers,
    message::{Era, Exchange, HttpContext, Id, Kind, Message},
    proxy::BackendError,
    reply::{Event, Events, Reply},
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
        Answer::Stream(head, events) => {
            let events = match kind {
                Kind::Request => Events::new(Answering::new(&message, events)),
                _ => Events::new(events),
            };
            Ok(Reply::many(events).with_head(head))
        }
    }
}

/// The stream that answers a request. It may not end without a word: only a client that can resume it, or that
/// listens, knows what to make of that.
struct Answering {
    events: EventBody,
    id: Option<Id>,
    legacy: bool,
    /// `subscriptions/listen`, whose abrupt end is its end.
    listens: bool,
    /// An event had an id: the client comes back with it.
    resumable: bool,
    answered: bool,
    over: bool,
}

impl Answering {
    fn new(request: &Message, events: EventBody) -> Self {
        Self {
            events,
            id: request.id(),
            legacy: request.era() == Era::Legacy,
            listens: request.is_request("subscriptions/listen"),
            resumable: false,
            answered: false,
            over: false,
        }
    }

    fn note(&mut self, event: &Event) {
        if let Some(id) = event.sse().and_then(|sse| sse.id()) {
            self.resumable = self.legacy && !id.is_empty();
        }
        if let Some(message) = event.message() {
            self.answered |= match message.kind() {
                Kind::Response => message.id() == self.id,
                // An error may leave the id out.
                Kind::Error => message.id().is_none() || message.id() == self.id,
                Kind::Request | Kind::Notification | Kind::Listen | Kind::End => false,
            };
        }
    }
}

impl Stream for Answering {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.over {
            return Poll::Ready(None);
        }
        let error = match ready!(Pin::new(&mut this.events).poll_next(cx)) {
            Some(Ok(event)) => {
                this.note(&event);
                return Poll::Ready(Some(Ok(event)));
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        this.over = true;
        Poll::Ready(match error {
            // A second answer would be one too many.
            Some(error) if this.answered => {
                tracing::debug!(%error, "a stream broke off after its answer");
                None
            }
            Some(error) if this.resumable && !is_garbage(&error) => {
                tracing::debug!(%error, "a stream broke off that can be resumed");
                None
            }
            Some(error) => Some(Err(error)),
            None if this.answered || this.resumable || this.listens => None,
            None => {
                let reason = "the backend closed its stream before it answered";
                Some(Err(BackendError::unavailable(reason).into()))
            }
        })
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
