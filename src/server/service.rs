//! The server as a service.

use std::{
    convert::Infallible,
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::value::RawValue;
use tower_service::Service;

use super::{
    InterceptorServerBuilder, eras,
    errors::Refusal,
    host::{Host, SharedHost},
    invoke, list,
};
use crate::{
    interceptor::{Descriptor, InterceptorsCapability},
    message::{Era, ErrorObject, Kind, Message},
    reply::{Head, Reply},
};

/// A server of interceptors; see the [module](crate::server). Cheap to clone.
#[derive(Clone)]
pub struct InterceptorServer(SharedHost);

impl InterceptorServer {
    /// Begins a server with the name and version that clients are told.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> InterceptorServerBuilder {
        InterceptorServerBuilder::new(name.into(), version.into())
    }

    pub(super) fn new(host: SharedHost) -> Self {
        Self(host)
    }

    /// What it hosts, in the order in which it was added.
    pub fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        self.0.hosted.iter().map(|hosted| hosted.descriptor())
    }

    /// The settings it advertises.
    #[must_use]
    pub fn capability(&self) -> &InterceptorsCapability {
        &self.0.capability
    }
}

impl Service<Message> for InterceptorServer {
    type Response = Reply;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Reply, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Message) -> Self::Future {
        if message.kind() != Kind::Request {
            // Notifications and answers need none, and there is nothing to listen to.
            return Box::pin(std::future::ready(Ok(Reply::accepted())));
        }
        let host = Arc::clone(&self.0);
        Box::pin(async move { Ok(serve(&host, &message).await) })
    }
}

async fn serve(host: &Host, message: &Message) -> Reply {
    let result = match eras::check(message) {
        Ok(()) => {
            let cancelled = std::pin::pin!(message.exchange().cancellation().cancelled());
            let served = std::pin::pin!(route(host, message));
            match futures::future::select(served, cancelled).await {
                futures::future::Either::Left((result, _)) => result,
                futures::future::Either::Right(_) => Err(Refusal::cancelled()),
            }
        }
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(result) => answer(message, Ok(&*result)),
        Err(refusal) => {
            let reply = answer(message, Err(&refusal.error));
            if eras::is_modern(message) && refusal.modern_status != StatusCode::OK {
                reply.with_head(Head::new(refusal.modern_status))
            } else {
                reply
            }
        }
    }
}

/// `method` has been decoded, so an escaped one is the same.
async fn route(host: &Host, message: &Message) -> Result<Box<RawValue>, Refusal> {
    let era = message.era();
    match (message.method().unwrap_or_default(), era) {
        ("interceptors/list", _) => list::list(host, message),
        ("interceptor/invoke", _) => invoke::invoke(host, message).await,
        ("interceptor/executeChain", _) => match &host.old {
            Some(old) => old.execute(message).await,
            None => Err(Refusal::method_not_found()),
        },
        ("initialize", Era::Legacy) => eras::initialize(host, message),
        ("ping", Era::Legacy) => Ok(eras::raw(&serde_json::json!({}))),
        ("server/discover", Era::Modern) => Ok(eras::discover(host)),
        _ => Err(Refusal::method_not_found()),
    }
}

fn answer(message: &Message, answer: Result<&RawValue, &ErrorObject>) -> Reply {
    let made = message.answer(answer).or_else(|error| {
        tracing::error!(%error, "an answer cannot be written");
        message.answer::<RawValue>(Err(&ErrorObject::new(-32603, "internal error")))
    });
    made.map_or_else(|_| Reply::accepted(), Reply::one)
}

impl fmt::Debug for InterceptorServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptorServer")
            .field("name", &self.0.name)
            .field("interceptors", &self.0.by_name.keys())
            .finish_non_exhaustive()
    }
}
