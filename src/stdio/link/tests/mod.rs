//! The traps of a link, with bytes over in-memory pipes.

mod cancel;
mod faults;
mod ids;
mod routing;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split},
    task::JoinHandle,
};
use tokio_test::{assert_pending, assert_ready, task};
use tower::ServiceExt;

use super::*;
use crate::{
    message::{Connection, Exchange, Id, Kind},
    proxy::{BackendError, BackendErrorKind},
    reply::{Body, Events},
};

/// The server's end of the pipes.
struct Server {
    lines: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Server {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        soon(self.lines.read_line(&mut line)).await.unwrap();
        line.trim_end_matches('\n').into()
    }

    async fn say(&mut self, line: &str) {
        self.writer
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn answers(&mut self, id: u32, result: &str) {
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
            .await;
    }
}

fn connected(options: LinkOptions) -> (Link, Server) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let (lines, server) = split(theirs);
    let server = Server {
        lines: BufReader::new(lines),
        writer: server,
    };
    (options.connect(reader, writer), server)
}

fn pair() -> (Link, Server) {
    connected(LinkOptions::new())
}

type Calling = JoinHandle<Result<Reply, BoxError>>;

fn start(link: &Link, message: Message) -> Calling {
    tokio::spawn(link.clone().oneshot(message))
}

fn call(link: &Link, json: &str) -> Calling {
    start(link, parse(json))
}

fn parse(json: &str) -> Message {
    Message::parse(json.to_owned()).unwrap()
}

fn on(connection: &Arc<Connection>, json: &str) -> Message {
    parse(json).with_exchange(Arc::new(Exchange::new().with_connection(Arc::clone(connection))))
}

/// A deadline, so that what should come and does not is a failure and no hang.
async fn soon<F: Future>(future: F) -> F::Output {
    let deadline = std::time::Duration::from_secs(20);
    tokio::time::timeout(deadline, future)
        .await
        .expect("nothing came")
}

async fn one(calling: Calling) -> String {
    match soon(calling).await.unwrap().unwrap().body {
        Body::One(message) => message.as_json().into(),
        other => panic!("not one message: {other:?}"),
    }
}

async fn many(calling: Calling) -> Events {
    match soon(calling).await.unwrap().unwrap().body {
        Body::Many(events) => events,
        other => panic!("not a stream: {other:?}"),
    }
}

async fn listen(link: &Link) -> Events {
    many(start(link, Message::listen())).await
}

async fn next(events: &mut Events) -> String {
    let event = soon(events.next()).await.expect("an event").expect("a message");
    event.message().unwrap().as_json().into()
}

fn kind_of(error: &BoxError) -> BackendErrorKind {
    error
        .downcast_ref::<BackendError>()
        .expect("a backend error")
        .kind()
}
