//! The client against a server that nobody here wrote: raw JSON, in memory.

mod calls;
mod chains;
mod discovery;
mod faults;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tower::service_fn;

use super::InterceptorServer;
use crate::{
    BoxError, McpService,
    message::{Kind, Message},
    reply::{Events, Reply},
};

/// What the fake server does with a call.
#[derive(Clone)]
pub(super) enum Say {
    Result(Value),
    Error(Value),
    /// Bytes of a message in place of an answer; `$id` stands for the id.
    Raw(&'static str),
    /// Never answers.
    Hang,
    /// The transport breaks.
    Die,
    /// The stream ends before the answer.
    Half,
}

type Act = Arc<dyn Fn(&Value) -> Say + Send + Sync>;

/// An interceptor server.
#[derive(Clone)]
pub(super) struct Fake(Arc<State>);

struct State {
    modern: bool,
    descriptors: Mutex<Vec<Value>>,
    acts: Mutex<HashMap<String, Act>>,
    /// In place of what it would do, by method.
    instead: Mutex<HashMap<String, Say>>,
    log: Mutex<Vec<(String, Value)>>,
    dropped: AtomicU64,
}

impl Fake {
    pub(super) fn legacy() -> Self {
        Self::new(false)
    }

    pub(super) fn modern() -> Self {
        Self::new(true)
    }

    fn new(modern: bool) -> Self {
        Self(Arc::new(State {
            modern,
            descriptors: Mutex::default(),
            acts: Mutex::default(),
            instead: Mutex::default(),
            log: Mutex::default(),
            dropped: AtomicU64::new(0),
        }))
    }

    /// Adds an interceptor, with members of its descriptor besides the name.
    pub(super) fn with(
        self,
        name: &str,
        mut descriptor: Value,
        act: impl Fn(&Value) -> Say + Send + Sync + 'static,
    ) -> Self {
        descriptor["name"] = name.into();
        if descriptor.get("hooks").is_none() {
            descriptor["hooks"] = json!([{"events": ["tools/call"], "phase": "request"}]);
        }
        self.0.descriptors.lock().unwrap().push(descriptor);
        self.0.acts.lock().unwrap().insert(name.into(), Arc::new(act));
        self
    }

    /// A mutator that puts its mark in front of `text`.
    pub(super) fn mutator(self, name: &str, priority: i32) -> Self {
        let mark = name.to_owned();
        self.with(
            name,
            json!({"type": "mutation", "priorityHint": priority}),
            move |params| {
                let mut payload = params["payload"].clone();
                payload["text"] = format!("{mark}:{}", payload["text"].as_str().unwrap_or_default()).into();
                Say::Result(json!({"type": "mutation", "modified": true, "payload": payload}))
            },
        )
    }

    /// A validator that refuses a payload whose `text` is `bad`.
    pub(super) fn validator(self, name: &str) -> Self {
        self.with(name, json!({"type": "validation"}), |params| {
            let valid = params["payload"]["text"] != "bad";
            Say::Result(json!({"type": "validation", "valid": valid}))
        })
    }

    pub(super) fn change(&self, name: &str, member: &str, value: Value) {
        let mut all = self.0.descriptors.lock().unwrap();
        let found = all
            .iter_mut()
            .find(|descriptor| descriptor["name"] == name)
            .unwrap();
        found[member] = value;
    }

    pub(super) fn withdraw(&self, name: &str) {
        self.0
            .descriptors
            .lock()
            .unwrap()
            .retain(|descriptor| descriptor["name"] != name);
    }

    pub(super) fn instead(&self, method: &str, say: Option<Say>) {
        let mut instead = self.0.instead.lock().unwrap();
        match say {
            Some(say) => instead.insert(method.into(), say),
            None => instead.remove(method),
        };
    }

    pub(super) fn methods(&self) -> Vec<String> {
        self.0
            .log
            .lock()
            .unwrap()
            .iter()
            .map(|(method, _)| method.clone())
            .collect()
    }

    pub(super) fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|called| *called == method).count()
    }

    /// The params of the last call of a method.
    pub(super) fn last(&self, method: &str) -> Value {
        let log = self.0.log.lock().unwrap();
        log.iter()
            .rev()
            .find(|(called, _)| called == method)
            .unwrap()
            .1
            .clone()
    }

    /// How many calls that hang were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn service(&self) -> impl McpService<Error = BoxError> + use<> {
        let fake = self.clone();
        service_fn(move |message: Message| {
            let fake = fake.clone();
            async move { fake.answer(message).await }
        })
    }

    pub(super) fn named(&self, name: &str) -> InterceptorServer {
        InterceptorServer::new(name, self.service())
    }

    async fn answer(&self, message: Message) -> Result<Reply, BoxError> {
        let Some(method) = message.method() else {
            return Ok(Reply::accepted());
        };
        let params: Value = serde_json::from_str(message.payload().as_json()).unwrap();
        self.0.log.lock().unwrap().push((method.into(), params.clone()));
        if message.kind() != Kind::Request {
            return Ok(Reply::accepted());
        }
        let instead = self.0.instead.lock().unwrap().get(method).cloned();
        let say = instead.unwrap_or_else(|| self.say(method, &params));
        let id = message.id().unwrap();
        // Whoever else is ready runs first, as with any real transport.
        tokio::task::yield_now().await;
        Ok(match say {
            Say::Result(result) => Reply::one(message.answer(Ok(&result))?),
            Say::Error(error) => Reply::one(Message::parse(
                json!({"jsonrpc": "2.0", "id": serde_json::from_str::<Value>(id.as_json())?, "error": error})
                    .to_string(),
            )?),
            Say::Raw(raw) => Reply::one(Message::parse(raw.replace("$id", id.as_json()))?),
            Say::Die => return Err("the pipe is broken".into()),
            Say::Half => {
                let note = Message::notification("notifications/message", &json!({}))?;
                Reply::many(Events::new(futures::stream::iter([Ok::<_, BoxError>(note)])))
            }
            Say::Hang => {
                let _counted = Dropped(self.clone());
                std::future::pending().await
            }
        })
    }

    fn say(&self, method: &str, params: &Value) -> Say {
        match method {
            "server/discover" if self.0.modern => Say::Result(json!({
                "supportedVersions": ["2026-07-28"], "resultType": "complete",
                "capabilities": {"extensions": {"io.modelcontextprotocol/interceptors": {"supportedEvents": ["tools/call"]}}},
            })),
            "initialize" if !self.0.modern => Say::Result(json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "fake", "version": "1"},
            })),
            "interceptors/list" => Say::Result(json!({"interceptors": *self.0.descriptors.lock().unwrap()})),
            "interceptor/invoke" => {
                let act = self
                    .0
                    .acts
                    .lock()
                    .unwrap()
                    .get(params["name"].as_str().unwrap())
                    .cloned();
                let listed = self
                    .0
                    .descriptors
                    .lock()
                    .unwrap()
                    .iter()
                    .any(|d| d["name"] == params["name"]);
                match act {
                    Some(act) if listed => act(params),
                    _ => error(-32602, "nobody is called so", Some("unknown_interceptor")),
                }
            }
            _ => error(-32601, "method not found", None),
        }
    }
}

struct Dropped(Fake);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) fn error(code: i64, text: &str, kind: Option<&str>) -> Say {
    let mut error = json!({"code": code, "message": text});
    if let Some(kind) = kind {
        error["data"] = json!({"kind": kind});
    }
    Say::Error(error)
}

/// Lets tasks that are ready run, without moving a paused clock by more than that.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
