//! Backends that are slow, ask, or count, and chains for them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream};
use mcp_interceptors::{
    BoxError,
    chain::Chain,
    interceptor::Interceptor,
    message::{Id, Kind, Message},
    proxy::{BackendError, BackendErrorKind},
    reply::{Body, Events, Reply},
};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tower::util::BoxCloneSyncService;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// As good as for ever, where time is paused.
pub(crate) const LONG: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) type Stack = BoxCloneSyncService<Message, Reply, BoxError>;

pub(crate) fn call(id: i64) -> Message {
    Message::request(&Id::from(id), "tools/call", &json!({"name": "work"})).unwrap()
}

pub(crate) fn cancel(id: i64) -> Message {
    Message::notification("notifications/cancelled", &json!({"requestId": id})).unwrap()
}

/// The client's answer to the server's question.
pub(crate) fn client_answer(id: i64) -> Message {
    Message::response(&Id::from(id), &json!({"action": "accept"})).unwrap()
}

pub(crate) fn progress() -> Message {
    Message::notification("notifications/progress", &json!({"progress": 1})).unwrap()
}

pub(crate) fn answer_to(request: &Message) -> Message {
    request.answer(Ok(&json!({"content": []}))).unwrap()
}

/// Counts the calls that reach it and answers each at once.
#[derive(Clone, Default)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn backend(&self) -> Stack {
        let counted = self.clone();
        BoxCloneSyncService::new(tower::service_fn(move |message: Message| {
            counted.add();
            async move {
                Ok(match message.kind() {
                    Kind::Request => Reply::one(answer_to(&message)),
                    _ => Reply::accepted(),
                })
            }
        }))
    }
}

/// Takes `time` for a call, and first reports progress if it is told to.
pub(crate) fn slow(time: Duration, reports: bool) -> Stack {
    BoxCloneSyncService::new(tower::service_fn(move |message: Message| async move {
        if message.kind() != Kind::Request {
            return Ok(Reply::accepted());
        }
        let answer = answer_to(&message);
        let late = async move {
            tokio::time::sleep(time).await;
            Ok::<_, BoxError>(answer)
        };
        if reports {
            let events = stream::iter([Ok(progress())]).chain(stream::once(late));
            Ok(Reply::many(Events::new(events)))
        } else {
            Ok(Reply::one(late.await?))
        }
    }))
}

/// A server that asks the client, by the listen stream, before it answers a call. A cancel ends the wait as well.
/// Each question comes out of the receiver.
pub(crate) fn asks() -> (Stack, mpsc::UnboundedReceiver<()>) {
    let (sender, questions) = mpsc::unbounded_channel();
    let told = Arc::new(Notify::new());
    let service = tower::service_fn(move |message: Message| {
        let (sender, told) = (sender.clone(), Arc::clone(&told));
        async move {
            if message.kind() != Kind::Request {
                told.notify_one();
                return Ok(Reply::accepted());
            }
            sender.send(())?;
            told.notified().await;
            Ok::<_, BoxError>(Reply::one(answer_to(&message)))
        }
    });
    (BoxCloneSyncService::new(service), questions)
}

/// Everything a reply carries.
pub(crate) async fn drain(reply: Reply) -> Result<Vec<Message>, BoxError> {
    match reply.body {
        Body::Accepted => Ok(Vec::new()),
        Body::One(message) => Ok(vec![message]),
        Body::Opaque(opaque) => panic!("{opaque:?}"),
        Body::Many(mut events) => {
            let mut messages = Vec::new();
            while let Some(event) = events.next().await {
                messages.extend(event?.into_message());
            }
            Ok(messages)
        }
    }
}

pub(crate) async fn answer(reply: Reply) -> Value {
    let answer = reply.into_one(drop).await.unwrap().expect("an answer");
    serde_json::from_str(answer.as_json()).unwrap()
}

pub(crate) fn is_timeout(error: &BoxError) -> bool {
    error
        .downcast_ref::<BackendError>()
        .is_some_and(|error| error.kind() == BackendErrorKind::Timeout)
}

/// A validator that passes every call when it gets to judge it, and counts how often it did.
pub(crate) fn passes(judged: &Counted) -> Interceptor {
    let judged = judged.clone();
    Interceptor::validator("v")
        .on("tools/call")
        .request()
        .handler(move || {
            judged.add();
            async { true }
        })
}

pub(crate) fn chain(interceptor: Interceptor) -> Chain {
    Chain::builder().interceptor(interceptor).build().unwrap()
}
