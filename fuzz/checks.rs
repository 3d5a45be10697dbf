//! What must hold for any input. The fuzz targets call these, and so does a plain test over the seeds.
#![allow(dead_code, reason = "each target uses one")]

use mcp_interceptors::{
    message::{Id, Kind, Message, Payload},
    reply::{Event, Sse},
};
use serde_json::value::RawValue;

/// What is read is kept byte for byte, and means what another parser says it means.
pub(crate) fn message(input: &[u8]) {
    let message = match Message::parse(input.to_vec()) {
        Ok(message) => message,
        Err(error) => {
            assert!(matches!(error.code(), -32700 | -32600));
            if error.code() == -32700 {
                let text = std::str::from_utf8(input);
                assert!(text.is_err() || serde_json::from_str::<&RawValue>(text.unwrap()).is_err());
            }
            return;
        }
    };
    assert_eq!(&message.bytes()[..], input);
    assert!(serde_json::from_str::<&RawValue>(message.as_json()).is_ok());
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(input) else {
        return;
    };
    assert_eq!(
        message.method(),
        value.get("method").and_then(|method| method.as_str())
    );
    let member = match message.kind() {
        Kind::Request | Kind::Notification => "params",
        Kind::Response => "result",
        Kind::Error => "error",
        Kind::Listen | Kind::End => unreachable!("bytes are no such thing"),
    };
    if let Ok(payload) = message.payload().value() {
        assert_eq!(payload, value.get(member).unwrap_or(&serde_json::json!({})));
    }
    if let Some(id) = message.id() {
        assert_eq!(
            Some(&serde_json::from_str::<serde_json::Value>(id.as_json()).unwrap()),
            value.get("id")
        );
        let renamed = message.clone().with_id(&Id::from("other")).unwrap();
        assert_eq!(renamed.with_id(&id).unwrap().bytes(), message.bytes());
    }
}

/// An edit changes what it names and nothing else.
pub(crate) fn payload(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(mut payload) = Payload::from_json(text) else {
        return;
    };
    let before = payload.as_json().to_owned();
    if payload.edit_strings(|_| None).is_ok() {
        assert_eq!(payload.as_json(), before);
    }
    if payload.check().is_ok() {
        assert_eq!(payload.overlaid_with(&payload).unwrap().as_json(), before);
    }
    let Ok(value) = payload.value().cloned() else {
        return;
    };
    if value.is_object() && payload.set("/fuzzed", &1).is_ok() {
        let mut edited = value.clone();
        edited["fuzzed"] = 1.into();
        assert_eq!(payload.value().unwrap(), &edited);
        if value.get("fuzzed").is_none() {
            payload.remove("/fuzzed").unwrap();
            assert_eq!(payload.as_json(), before);
        }
    }
}

/// An event that nobody edits keeps its text; one that is edited carries what was put in.
pub(crate) fn sse(input: &[u8]) {
    let sse = Sse::parse(input.to_vec().into());
    assert_eq!(&sse.as_bytes()[..], input);
    let Some(Ok(message)) = sse.data().cloned().map(Message::parse) else {
        return;
    };
    let mut event = Event::with_sse(message, sse.clone());
    assert_eq!(&event.to_sse()[..], input);
    let Ok(edited) = Message::parse(r#"{"jsonrpc":"2.0","method":"fuzzed"}"#) else {
        return;
    };
    event.set_message(edited.clone());
    let framed = Sse::parse(event.to_sse());
    if input.ends_with(b"\n\n") {
        assert_eq!(framed.data(), Some(edited.bytes()));
        assert_eq!(framed.id(), sse.id());
    }
}
