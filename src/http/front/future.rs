//! The response to one request.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use http::{StatusCode, request::Parts};
use pin_project::{pin_project, pinned_drop};
use tower::ServiceExt;

use super::{
    Settings,
    answer::{Question, refusal},
    body::{ResponseBody, drain},
    checks::{Asked, too_large},
    read::{Read, ReadError},
};
use crate::{
    BoxError, McpService,
    http::headers,
    message::{Era, ErrorObject, Exchange, HttpContext, Kind, Message, Principal},
    reply::{Body, Reply},
};

/// The response of a [`StreamableHttp`](super::StreamableHttp).
///
/// Dropped while a legacy call runs, it hands the call to a task of its own: that the client is gone is no
/// reason to cancel it.
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<S, B> {
    #[pin]
    stage: Stage<B>,
    /// What the call will need; taken when it begins.
    start: Option<Start<S>>,
}

struct Start<S> {
    service: S,
    settings: Arc<Settings>,
    parts: Parts,
}

#[pin_project(project = StageProj)]
enum Stage<B> {
    Refused(Option<Box<http::Response<ResponseBody>>>),
    Reading(Read<B>),
    /// No body is read: the request is a GET or a DELETE.
    Bare(Kind),
    Calling(Call),
    Done,
}

struct Call {
    reply: BoxFuture<'static, Result<Reply, BoxError>>,
    /// `None` when it has been answered.
    question: Option<Question>,
}

impl<S, B> ResponseFuture<S, B> {
    pub(super) fn new(service: S, settings: Arc<Settings>, request: http::Request<B>, asked: Asked) -> Self {
        let (parts, body) = request.into_parts();
        Self {
            stage: match asked {
                Asked::Message => Stage::Reading(Read::new(body, settings.max_body, settings.body_timeout)),
                Asked::Bare(kind) => Stage::Bare(kind),
            },
            start: Some(Start {
                service,
                settings,
                parts,
            }),
        }
    }

    pub(super) fn refused(response: Box<http::Response<ResponseBody>>) -> Self {
        Self {
            stage: Stage::Refused(Some(response)),
            start: None,
        }
    }
}

impl<S: McpService> Start<S> {
    fn call(self, message: Message) -> Call {
        let mut exchange = Exchange::new();
        let session = self.parts.headers.get(headers::SESSION_ID);
        // A 2026-07-28 message has none, whatever its headers say.
        let session = session.filter(|_| message.era() == Era::Legacy);
        if let Some(session) = session.and_then(|session| session.to_str().ok()) {
            exchange = exchange.with_session(session);
        }
        if let Some(principal) = self.parts.extensions.get::<Principal>() {
            exchange = exchange.with_principal(principal.clone());
        }
        let exchange = Arc::new(exchange.with_http(HttpContext::new(self.parts)));
        let question = Question {
            kind: message.kind(),
            id: (message.kind() == Kind::Request).then(|| message.id()).flatten(),
            // A 2026-07-28 client cancels by going away, and nobody waits for a stream that nobody reads. A session
            // whose id nobody has been told is of no use to anybody.
            runs_on: message.era() == Era::Legacy
                && message.kind() != Kind::Listen
                && !message.is_request("initialize"),
            keep_alive: self.settings.keep_alive,
            exchange: Arc::clone(&exchange),
        };
        let message = message.with_exchange(exchange);
        let reply = self.service.oneshot(message);
        Call {
            reply: Box::pin(async move { reply.await.map_err(Into::into) }),
            question: Some(question),
        }
    }

    fn read(self, body: Result<bytes::Bytes, ReadError>) -> Result<Call, Box<http::Response<ResponseBody>>> {
        let limit = self.settings.max_body;
        let body = body.map_err(|error| match error {
            ReadError::TooLarge => too_large(limit),
            ReadError::TooSlow => {
                let error = ErrorObject::new(-32600, "the body did not arrive in time");
                Box::new(refusal(StatusCode::REQUEST_TIMEOUT, Message::error(None, &error)))
            }
            ReadError::Broken => {
                let error = ErrorObject::new(-32600, "the body broke off");
                Box::new(refusal(StatusCode::BAD_REQUEST, Message::error(None, &error)))
            }
        })?;
        match Message::parse_within(body, limit) {
            Ok(message) => Ok(self.call(message)),
            Err(error) => {
                let object = ErrorObject::new(error.code(), error.to_string());
                let message = Message::error(error.id(), &object);
                Err(Box::new(refusal(StatusCode::BAD_REQUEST, message)))
            }
        }
    }
}

impl<S, B> Future for ResponseFuture<S, B>
where
    S: McpService,
    B: http_body::Body + Send + 'static,
{
    type Output = Result<http::Response<ResponseBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.stage.as_mut().project() {
                StageProj::Refused(response) => match response.take() {
                    Some(response) => return Poll::Ready(Ok(*response)),
                    None => return Poll::Pending,
                },
                StageProj::Reading(read) => {
                    let body = ready!(Pin::new(read).poll(cx));
                    match this.start.take().map(|start| start.read(body)) {
                        Some(Ok(call)) => Stage::Calling(call),
                        Some(Err(response)) => Stage::Refused(Some(response)),
                        None => Stage::Done,
                    }
                }
                StageProj::Bare(kind) => {
                    let message = if *kind == Kind::Listen {
                        Message::listen()
                    } else {
                        Message::end()
                    };
                    match this.start.take() {
                        Some(start) => Stage::Calling(start.call(message)),
                        None => Stage::Done,
                    }
                }
                StageProj::Calling(call) => {
                    let reply = ready!(call.reply.as_mut().poll(cx));
                    let question = call.question.take();
                    this.stage.set(Stage::Done);
                    match question {
                        Some(question) => return Poll::Ready(Ok(question.respond(reply))),
                        None => return Poll::Pending,
                    }
                }
                StageProj::Done => return Poll::Pending,
            };
            this.stage.set(next);
        }
    }
}

#[pinned_drop]
impl<S, B> PinnedDrop for ResponseFuture<S, B> {
    fn drop(self: Pin<&mut Self>) {
        let StageProj::Calling(call) = self.project().stage.project() else {
            return;
        };
        let Some(question) = call.question.as_ref().filter(|question| question.runs_on) else {
            return;
        };
        question.exchange.leave();
        // Outside of a runtime nothing can run on.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let reply = std::mem::replace(&mut call.reply, Box::pin(std::future::pending()));
        runtime.spawn(async move {
            if let Ok(Reply {
                body: Body::Many(events),
                extensions,
            }) = reply.await
            {
                drain(events).await;
                // They may hold what a layer releases when the reply is over.
                drop(extensions);
            }
        });
    }
}

impl<S, B> fmt::Debug for ResponseFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
