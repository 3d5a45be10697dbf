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

/// With TLS a hello comes first, and nothing is said in the clear.
#[cfg(feature = "tls")]
#[tokio::test]
async fn https_is_tls() {
    use tokio::io::AsyncReadExt;
    use tower::ServiceExt;

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let backend = match HttpBackend::new(url) {
        Ok(backend) => backend,
        Err(error) => {
            assert!(error.to_string().contains("root certificates"), "{error}");
            return;
        }
    };
    let call = backend.oneshot(message(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
    let server = async {
        let mut stream = listener.accept().await.unwrap().0;
        let mut start = [0; 3];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(start[..2], [0x16, 3]);
    };
    let (reply, ()) = futures::future::join(call, server).await;
    assert_eq!(kind(&reply.unwrap_err()), BackendErrorKind::Unavailable);
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
