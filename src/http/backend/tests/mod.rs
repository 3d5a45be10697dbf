mod own;
mod relay;

use http::StatusCode;

use crate::{
    BoxError,
    http::HttpBackend,
    message::Message,
    proxy::{BackendError, BackendErrorKind},
    reply::{Body, Event, Events, Reply},
};

fn message(json: &str) -> Message {
    Message::parse(json.to_owned()).unwrap()
}

fn status(reply: &Reply) -> StatusCode {
    reply.head().unwrap().status
}

fn one(reply: Reply) -> Message {
    match reply.body {
        Body::One(message) => message,
        other => panic!("{other:?}"),
    }
}

fn many(reply: Reply) -> Events {
    match reply.body {
        Body::Many(events) => events,
        other => panic!("{other:?}"),
    }
}

async fn next(events: &mut Events) -> Event {
    events.next().await.unwrap().unwrap()
}

#[track_caller]
fn kind(error: &BoxError) -> BackendErrorKind {
    error.downcast_ref::<BackendError>().unwrap().kind()
}

#[test]
fn an_endpoint_is_checked_when_the_backend_is_built() {
    assert!(HttpBackend::new("http://127.0.0.1:1/mcp").is_ok());
    for endpoint in [
        "127.0.0.1:1/mcp",
        "/mcp",
        "ftp://host/mcp",
        "http://user:secret@host/mcp",
        "not a url",
        "",
    ] {
        let error = HttpBackend::new(endpoint).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    if cfg!(not(feature = "tls")) {
        let error = HttpBackend::new("https://host/mcp").unwrap_err();
        assert!(error.to_string().contains("feature `tls`"), "{error}");
    }
}
