//! One line, one answer.

use mcp_interceptors::{
    chain::Chain,
    interceptor::{ChainParams, Descriptor, InvocationContext, Members, Phase},
    message::{Id, Message},
    server::InterceptorServer,
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tower::ServiceExt;

use super::behaviors;

enum Step {
    CreateSession {
        interceptors: Vec<Declared>,
    },
    List {
        event: Option<String>,
    },
    Invoke {
        params: Box<RawValue>,
    },
    Chain {
        event: String,
        phase: Phase,
        payload: Box<RawValue>,
        session_id: Option<String>,
    },
}

/// A descriptor in its flat form, which this crate reads as it is, and a behaviour.
struct Declared {
    descriptor: Descriptor,
    behavior: String,
}

impl<'de> Deserialize<'de> for Declared {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut members = Members::deserialize(deserializer)?;
        if let Some(phases) = members.remove("phases") {
            members.insert("phase", phases);
        }
        let behavior = members
            .remove("behavior")
            .ok_or_else(|| D::Error::missing_field("behavior"))?;
        let json = serde_json::to_string(&members).map_err(D::Error::custom)?;
        let descriptor = serde_json::from_str(&json).map_err(D::Error::custom)?;
        Ok(Self {
            descriptor,
            behavior: serde_json::from_str(behavior.get()).map_err(D::Error::custom)?,
        })
    }
}

struct Hosted {
    server: InterceptorServer,
    chain: Chain,
}

/// What `createSession` has made.
#[derive(Default)]
pub(crate) struct Session(Option<Hosted>);

impl Session {
    /// The answer to a line. What cannot be understood is answered with `ok: false` and the reason.
    pub(crate) async fn answer(&mut self, line: &str) -> String {
        match self.run(line).await {
            Ok(answer) => answer,
            Err(error) => format!(r#"{{"ok":false,"error":{}}}"#, json!(error)),
        }
    }

    async fn run(&mut self, line: &str) -> Result<String, String> {
        let mut members: Members = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let step = step(&mut members)?;
        if let Step::CreateSession { interceptors } = step {
            self.0 = Some(host(interceptors)?);
            return Ok(r#"{"ok":true}"#.into());
        }
        let hosted = self
            .0
            .as_ref()
            .ok_or("there is no session: createSession comes first")?;
        match step {
            Step::CreateSession { .. } => Err("unreachable".into()),
            Step::List { event } => {
                let params = event.map_or_else(|| json!({}), |event| json!({ "event": event }));
                hosted.ask("interceptors/list", &params).await
            }
            Step::Invoke { params } => hosted.ask("interceptor/invoke", &params).await,
            Step::Chain {
                event,
                phase,
                payload,
                session_id,
            } => {
                let mut context = InvocationContext::now();
                context.session_id = session_id;
                let params = ChainParams::new_raw(event, phase, payload).with_context(context);
                let result = hosted.chain.execute(params).await;
                Ok(match (result.is_success(), result.final_payload) {
                    (true, Some(payload)) => {
                        format!(r#"{{"ok":true,"decision":"allow","finalPayload":{payload}}}"#)
                    }
                    _ => r#"{"ok":true,"decision":"deny"}"#.into(),
                })
            }
        }
    }
}

fn step(members: &mut Members) -> Result<Step, String> {
    fn need<T: for<'de> Deserialize<'de>>(members: &mut Members, name: &str) -> Result<T, String> {
        let json = members
            .remove(name)
            .ok_or_else(|| format!("`{name}` is missing"))?;
        serde_json::from_str(json.get()).map_err(|error| format!("`{name}`: {error}"))
    }
    fn may<T: for<'de> Deserialize<'de>>(members: &mut Members, name: &str) -> Result<Option<T>, String> {
        match members.get(name) {
            Some(_) => need::<Option<T>>(members, name),
            None => Ok(None),
        }
    }
    let op: String = need(members, "op")?;
    Ok(match &*op {
        "createSession" => Step::CreateSession {
            interceptors: need(members, "interceptors")?,
        },
        "list" => Step::List {
            event: may(members, "event")?,
        },
        "invoke" => Step::Invoke {
            params: need(members, "params")?,
        },
        "chain" => Step::Chain {
            event: need(members, "event")?,
            phase: need(members, "phase")?,
            payload: need(members, "payload")?,
            session_id: may(members, "sessionId")?,
        },
        other => return Err(format!("unknown op {other:?}")),
    })
}

fn host(declared: Vec<Declared>) -> Result<Hosted, String> {
    let mut server = InterceptorServer::builder("conformance-adapter", env!("CARGO_PKG_VERSION"));
    let mut chain = Chain::builder();
    for Declared { descriptor, behavior } in declared {
        let interceptor = behaviors::interceptor(descriptor, &behavior)?;
        chain = chain.interceptor(interceptor.clone());
        server = server.interceptor(interceptor);
    }
    Ok(Hosted {
        server: server.build().map_err(|error| error.to_string())?,
        chain: chain.build().map_err(|error| error.to_string())?,
    })
}

impl Hosted {
    async fn ask<T: serde::Serialize + ?Sized>(&self, method: &str, params: &T) -> Result<String, String> {
        let request = Message::request(&Id::from(1), method, params).map_err(|error| error.to_string())?;
        let Ok(reply) = self.server.clone().oneshot(request).await;
        let answer = reply.into_one(drop).await.map_err(|error| error.to_string())?;
        let answer = answer.ok_or("the server has not answered")?;
        let payload = answer.payload().as_json();
        if answer.kind() == mcp_interceptors::message::Kind::Error {
            let error: serde_json::Value =
                serde_json::from_str(payload).map_err(|error| error.to_string())?;
            return Ok(format!(r#"{{"ok":false,"errorCode":{}}}"#, error["code"]));
        }
        let mut result: Members = serde_json::from_str(payload).map_err(|error| error.to_string())?;
        // The one member that differs from run to run.
        result.remove("durationMs");
        let result = serde_json::to_string(&result).map_err(|error| error.to_string())?;
        Ok(format!(r#"{{"ok":true,"result":{result}}}"#))
    }
}
