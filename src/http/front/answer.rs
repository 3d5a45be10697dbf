//! From a reply to an HTTP response.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, StatusCode, header};

use super::body::ResponseBody;
use crate::{
    BoxError,
    http::headers::{self, Media, media},
    message::{Exchange, Id, Kind, Message},
    reply::{Body, Head, Reply},
    rescue::Cause,
};

/// What must be known of a message to answer it.
pub(super) struct Question {
    pub(super) kind: Kind,
    /// The id of a request.
    pub(super) id: Option<Id>,
    /// Whether the call outlives its client.
    pub(super) runs_on: bool,
    pub(super) keep_alive: Option<Duration>,
    pub(super) exchange: Arc<Exchange>,
}

/// A response that carries an error of our own.
pub(super) fn refusal(status: StatusCode, message: Message) -> http::Response<ResponseBody> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, headers::JSON);
    response(status, headers, ResponseBody::whole(message.into_bytes()))
}

fn response(status: StatusCode, headers: HeaderMap, body: ResponseBody) -> http::Response<ResponseBody> {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// A method that is not served.
pub(super) fn not_allowed(allowed: &'static str) -> http::Response<ResponseBody> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ALLOW, http::HeaderValue::from_static(allowed));
    response(StatusCode::METHOD_NOT_ALLOWED, headers, ResponseBody::empty())
}

/// The stack has nothing to say unasked, and the protocol's word for that is 405.
fn no_stream() -> http::Response<ResponseBody> {
    not_allowed("POST, DELETE")
}

impl Question {
    pub(super) fn respond(self, reply: Result<Reply, BoxError>) -> http::Response<ResponseBody> {
        let Reply { body, mut extensions } =
            reply.unwrap_or_else(|error| Cause::of(&error).reply(self.id.as_ref(), &Arc::default()));
        let (status, mut headers) = match extensions.remove::<Head>() {
            Some(Head { status, headers }) => (Some(status), headers),
            None => (None, HeaderMap::new()),
        };
        headers::remove_hop_by_hop(&mut headers);
        let wants_answer = matches!(self.kind, Kind::Request | Kind::Listen);
        // Nobody who sent a notification expects a body, and some clients take one for a failure.
        let unasked = !wants_answer && status.unwrap_or_default().is_success();
        match body {
            Body::One(_) | Body::Many(_) if unasked => self.accepted(status, headers),
            Body::Accepted if self.kind == Kind::Listen && status.is_none() => no_stream(),
            Body::Accepted => self.accepted(status, headers),
            Body::One(message) => {
                headers.remove(header::CONTENT_ENCODING);
                if media(&headers) != Media::Json {
                    headers.insert(header::CONTENT_TYPE, headers::JSON);
                }
                let body = ResponseBody::whole(message.into_bytes());
                response(status.unwrap_or_default(), headers, body)
            }
            Body::Many(events) => {
                headers.remove(header::CONTENT_ENCODING);
                if media(&headers) != Media::EventStream {
                    headers.insert(header::CONTENT_TYPE, headers::EVENT_STREAM);
                }
                headers::unbuffered(&mut headers);
                let status = status.unwrap_or_default();
                response(status, headers, ResponseBody::events(events, self, extensions))
            }
            Body::Opaque(opaque) => {
                let body = match opaque.as_bytes() {
                    Some(bytes) => ResponseBody::whole(bytes.clone()),
                    None => ResponseBody::stream(opaque.into_stream()),
                };
                response(status.unwrap_or(StatusCode::BAD_GATEWAY), headers, body)
            }
        }
    }

    /// There is nothing to say but that it was taken.
    fn accepted(&self, status: Option<StatusCode>, mut headers: HeaderMap) -> http::Response<ResponseBody> {
        for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
            headers.remove(name);
        }
        let ended = status.filter(|status| self.kind == Kind::End && status.is_success());
        response(
            ended.unwrap_or(StatusCode::ACCEPTED),
            headers,
            ResponseBody::empty(),
        )
    }
}
