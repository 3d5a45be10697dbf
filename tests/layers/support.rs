//! A backend that is told what to answer, messages, and a log of who ran.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::StreamExt;
use mcp_interceptors::{
    BoxError, McpService,
    chain::{ChainSource, Side},
    intercept::InterceptorLayer,
    message::{Id, Message},
    mutation::MutationLayer,
    reply::{Body, Event, Events, Reply},
    sink::SinkLayer,
    validation::ValidationLayer,
};
use serde_json::{Value, json};
use tower::{ServiceBuilder, util::BoxCloneSyncService};

pub(crate) const CALL: &str = "tools/call";
pub(crate) const SAMPLING: &str = "sampling/createMessage";

pub(crate) const MS: Duration = Duration::from_millis(1);

/// Any stack.
pub(crate) type Stack = BoxCloneSyncService<Message, Reply, BoxError>;

/// What was called, in order.
#[derive(Clone, Default, Debug)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Which layers a stack is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Build {
    Fused,
    ByHand,
}

pub(crate) const BUILDS: [Build; 2] = [Build::Fused, Build::ByHand];
pub(crate) const SIDES: [Side; 2] = [Side::Client, Side::Server];

/// The whole chain around `inner`, in one layer or in three in their natural order.
pub(crate) fn stack<S: McpService>(build: Build, side: Side, chain: impl Into<ChainSource>, inner: S) -> Stack
where
    S::Error: Into<BoxError>,
{
    let chain = chain.into();
    let inner = tower::ServiceExt::map_err(inner, Into::into);
    let (mutation, validation, sink) = (
        MutationLayer::new(chain.clone()),
        ValidationLayer::new(chain.clone()),
        SinkLayer::new(chain.clone()),
    );
    match (build, side) {
        (Build::Fused, side) => BoxCloneSyncService::new(
            ServiceBuilder::new()
                .layer(InterceptorLayer::on(side, chain))
                .service(inner),
        ),
        (Build::ByHand, Side::Client) => BoxCloneSyncService::new(
            ServiceBuilder::new()
                .layer(mutation)
                .layer(validation)
                .layer(sink)
                .service(inner),
        ),
        (Build::ByHand, Side::Server) => BoxCloneSyncService::new(
            ServiceBuilder::new()
                .layer(validation)
                .layer(sink)
                .layer(mutation)
                .service(inner),
        ),
    }
}

pub(crate) fn call() -> Message {
    request_of(CALL)
}

pub(crate) fn request_of(method: &str) -> Message {
    let params = json!({"name": "echo", "arguments": {"text": "hi"}});
    Message::request(&Id::from(7), method, &params).unwrap()
}

pub(crate) fn answer() -> Message {
    answer_to(7)
}

/// An answer as it comes off a wire: it says which request it answers by its id alone.
pub(crate) fn answer_to(id: i64) -> Message {
    let result = json!({"content": [{"type": "text", "text": "hi"}]});
    Message::response(&Id::from(id), &result).unwrap()
}

pub(crate) fn sampling() -> Message {
    Message::request(&Id::from(900), SAMPLING, &json!({"messages": []})).unwrap()
}

pub(crate) fn notification(method: &str) -> Message {
    Message::notification(method, &json!({"progress": 1})).unwrap()
}

/// A stream of these messages.
pub(crate) fn many(messages: impl IntoIterator<Item = Message>) -> Reply {
    let events: Vec<_> = messages.into_iter().map(Ok::<_, BoxError>).collect();
    Reply::many(Events::new(futures::stream::iter(events)))
}

/// Everything a reply carries.
pub(crate) async fn drain(reply: Reply) -> Vec<Message> {
    match reply.body {
        Body::Accepted => Vec::new(),
        Body::One(message) => vec![message],
        Body::Many(events) => {
            let events: Vec<Result<Event, BoxError>> = events.collect().await;
            events
                .into_iter()
                .filter_map(|event| event.unwrap().into_message())
                .collect()
        }
        Body::Opaque(opaque) => panic!("{opaque:?}"),
    }
}

pub(crate) async fn events(reply: Reply) -> Vec<Event> {
    let Body::Many(events) = reply.body else {
        panic!("{:?}", reply.body)
    };
    events.map(Result::unwrap).collect().await
}

pub(crate) fn one(reply: Reply) -> Message {
    match reply.body {
        Body::One(message) => message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn value(message: &Message) -> Value {
    serde_json::from_str(message.as_json()).unwrap()
}

/// The next of these, with a deadline: a test that waits in vain must end.
pub(crate) async fn next<T>(receiver: &mut tokio::sync::mpsc::UnboundedReceiver<T>) -> T {
    let received = tokio::time::timeout(Duration::from_secs(10), receiver.recv()).await;
    received
        .expect("nothing came in ten seconds")
        .expect("nothing can come any more")
}
