//! The rows about a server's or gateway's middleware, through layers.

use mcp_interceptors::{
    BoxError,
    chain::Chain,
    intercept::InterceptorLayer,
    interceptor::{Context, Interceptor, Mode, Principal, ValidationResult},
    message::{Exchange, Id, Message, Payload, Principal as Caller},
    mutation::MutationLayer,
    reply::{Body, Reply},
    validation::ValidationLayer,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tower_test::{assert_request_eq, mock};

use crate::support::{CALL, Log, chain, noting_mutator, noting_validator};

fn call(text: &str) -> Message {
    let params = json!({"name": "echo", "arguments": {"text": text}});
    Message::request(&Id::from(7), CALL, &params).unwrap()
}

fn answer(text: &str) -> Message {
    let result = json!({"content": [{"type": "text", "text": text}]});
    Message::response(&Id::from(7), &result).unwrap()
}

fn one(reply: Reply) -> Message {
    match reply.body {
        Body::One(message) => message,
        other => panic!("{other:?}"),
    }
}

fn value(message: &Message) -> Value {
    serde_json::from_str(message.as_json()).unwrap()
}

type Spawned<L> = (
    tower_test::mock::Spawn<L>,
    tower_test::mock::Handle<Message, Reply>,
);

fn server_side(chain: Chain) -> Spawned<mcp_interceptors::intercept::Intercept<mock::Mock<Message, Reply>>> {
    mock::spawn_layer(InterceptorLayer::server_side(chain))
}

#[tokio::test]
async fn go_010_go_022_cs_005_ts_075_a_blocked_call_is_a_tool_error_and_the_backend_is_not_called() {
    let no = Interceptor::validator("blocker")
        .on(CALL)
        .request()
        .handler(|| async { ValidationResult::fail("Blocked!") });
    let (mut service, mut backend) = mock::spawn_layer(ValidationLayer::new(chain([no])));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let reply = one(service.call(call("x")).await.unwrap());
    let text = value(&reply)["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.starts_with("blocked by blocker: Blocked! (decision "),
        "{text}"
    );
    assert_eq!(value(&reply)["id"], 7);
    assert_eq!(value(&reply)["result"]["isError"], true);
    assert!(reply.is_made_by_stack());
    drop(service);
    assert!(backend.next_request().await.is_none());
}

#[tokio::test]
async fn ts_029_ts_054_with_the_json_rpc_surface_a_blocked_call_is_an_error_that_names_the_interceptor() {
    let no = Interceptor::validator("blocker")
        .on(CALL)
        .request()
        .handler(|| async { ValidationResult::fail("Blocked!") });
    let chain = Chain::builder()
        .interceptor(no)
        .surface(mcp_interceptors::chain::Surface::JsonRpc)
        .build()
        .unwrap();
    let (mut service, _backend) = mock::spawn_layer(ValidationLayer::new(chain));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let reply = value(&one(service.call(call("x")).await.unwrap()));
    assert_eq!(reply["error"]["code"], -32602);
    assert_eq!(reply["error"]["data"]["kind"], "blocked");
    let findings = json!([{"interceptor": "blocker", "severity": "error", "message": "Blocked!"}]);
    assert_eq!(reply["error"]["data"]["validationErrors"], findings);
    let decision = reply["error"]["data"]["decisionId"].as_str().unwrap();
    let text = format!("blocked by blocker: Blocked! (decision {decision})");
    assert_eq!(reply["error"]["message"], text);
}

#[tokio::test]
async fn go_011_go_023_what_is_allowed_passes_as_it_is() {
    let yes = Interceptor::validator("yes")
        .on(CALL)
        .both()
        .handler(|| async { true });
    let (mut service, mut backend) = server_side(chain([yes]));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let (reply, ()) = tokio::join!(service.call(call("x")), async {
        let (seen, send) = backend.next_request().await.unwrap();
        assert_eq!(seen, call("x"));
        send.send_response(Reply::one(answer("echo: x")));
    });
    assert_eq!(one(reply.unwrap()), answer("echo: x"));
}

#[tokio::test]
async fn go_012_a_response_mutator_prefixes() {
    let prefix =
        Interceptor::mutator("prefix")
            .on(CALL)
            .response()
            .handler(|mut payload: Payload| async move {
                payload.edit_strings(|text| (text == "x").then(|| format!("[M1] {text}")))?;
                Ok::<_, BoxError>(Some(payload))
            });
    let (mut service, mut backend) = mock::spawn_layer(MutationLayer::new(chain([prefix])));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let (reply, ()) = tokio::join!(service.call(call("x")), async {
        assert_request_eq!(backend, call("x")).send_response(Reply::one(answer("x")));
    });
    assert_eq!(one(reply.unwrap()), answer("[M1] x"));
}

#[tokio::test]
async fn go_020_go_024_go_027_cs_006_ts_028_a_request_mutator_changes_what_the_handler_sees() {
    let redact =
        Interceptor::mutator("redact")
            .on(CALL)
            .request()
            .handler(|mut payload: Payload| async move {
                payload.edit_strings(|text| text.contains('@').then(|| "[REDACTED]".into()))?;
                Ok::<_, BoxError>(Some(payload))
            });
    let (mut service, mut backend) = mock::spawn_layer(MutationLayer::new(chain([redact])));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let (reply, ()) = tokio::join!(service.call(call("user@example.com")), async {
        assert_request_eq!(backend, call("[REDACTED]")).send_response(Reply::one(answer("done")));
    });
    assert_eq!(one(reply.unwrap()), answer("done"));
}

#[tokio::test]
async fn go_014_cs_019_a_mutator_that_fails_hides_why() {
    let crash = Interceptor::mutator("crash")
        .on(CALL)
        .request()
        .handler(|| async { Err::<Option<Payload>, _>("password=hunter2") });
    let (mut service, mut backend) = mock::spawn_layer(MutationLayer::new(chain([crash])));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let reply = one(service.call(call("x")).await.unwrap());
    let text = value(&reply)["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.starts_with("the interceptor crash failed (decision "),
        "{text}"
    );
    assert!(!reply.as_json().contains("hunter2"));
    drop(service);
    assert!(backend.next_request().await.is_none());
}

#[tokio::test]
async fn go_021_on_the_side_of_a_server_requests_are_validated_first_and_responses_mutated_first() {
    let log = Log::default();
    let interceptors = [1, 2, 3]
        .map(|n| noting_mutator(Interceptor::mutator(format!("m{n}")).on(CALL).both(), &log))
        .into_iter()
        .chain(
            [1, 2, 3, 4]
                .map(|n| noting_validator(Interceptor::validator(format!("v{n}")).on(CALL).both(), &log)),
        );
    let (mut service, mut backend) = server_side(chain(interceptors));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let (reply, seen) = tokio::join!(service.call(call("x")), async {
        let send = assert_request_eq!(backend, call("x"));
        let seen = log.take();
        send.send_response(Reply::one(answer("x")));
        seen
    });
    assert_eq!(one(reply.unwrap()), answer("x"));
    assert_eq!(seen, ["v1", "v2", "v3", "v4", "m1", "m2", "m3"]);
    assert_eq!(log.take(), ["m1", "m2", "m3", "v1", "v2", "v3", "v4"]);
}

#[tokio::test]
async fn go_025_an_audit_does_not_block() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let audit = Interceptor::validator("audit")
        .on(CALL)
        .request()
        .mode(Mode::Audit)
        .handler(move || {
            sender.send(()).unwrap();
            async { false }
        });
    let (mut service, mut backend) = server_side(chain([audit]));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let (reply, ()) = tokio::join!(service.call(call("x")), async {
        assert_request_eq!(backend, call("x")).send_response(Reply::one(answer("x")));
    });
    assert_eq!(one(reply.unwrap()), answer("x"));
    assert_eq!(receiver.recv().await, Some(()));
}

#[tokio::test]
async fn go_026_interceptors_are_told_who_calls() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let watch = Interceptor::validator("watch")
        .on(CALL)
        .request()
        .handler(move |context: Context| {
            sender.send(context.0).unwrap();
            async { true }
        });
    let (mut service, mut backend) = server_side(chain([watch]));
    tokio_test::assert_ready_ok!(service.poll_ready());
    let exchange = Exchange::new()
        .with_principal(Caller::user("test-user"))
        .with_session("s-1");
    let message = call("x").with_exchange(Arc::new(exchange));
    let (reply, ()) = tokio::join!(service.call(message), async {
        assert_request_eq!(backend, call("x")).send_response(Reply::one(answer("x")));
    });
    reply.unwrap();
    let context = receiver.recv().await.unwrap();
    assert_eq!(context.principal, Some(Principal::user("test-user")));
    assert_eq!(context.session_id.as_deref(), Some("s-1"));
}
