//! The traps of a link, with bytes over in-memory pipes.

use std::sync::Arc;

use futures::{StreamExt, future::BoxFuture};
use proptest::prelude::*;
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
        self.lines.read_line(&mut line).await.unwrap();
        line.trim_end_matches('\n').into()
    }

    async fn say(&mut self, line: &str) {
        self.writer
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Says a lot at once, without waiting for the link to read all of it.
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

async fn one(calling: Calling) -> String {
    match calling.await.unwrap().unwrap().body {
        Body::One(message) => message.as_json().into(),
        other => panic!("not one message: {other:?}"),
    }
}

async fn many(calling: Calling) -> Events {
    match calling.await.unwrap().unwrap().body {
        Body::Many(events) => events,
        other => panic!("not a stream: {other:?}"),
    }
}

async fn listen(link: &Link) -> Events {
    many(start(link, Message::listen())).await
}

async fn next(events: &mut Events) -> String {
    let event = events.next().await.expect("an event").expect("a message");
    event.message().unwrap().as_json().into()
}

fn kind_of(error: &BoxError) -> BackendErrorKind {
    error
        .downcast_ref::<BackendError>()
        .expect("a backend error")
        .kind()
}

/// Cases 1 to 3 and 5: equal ids in flight, in any spelling, of any client.
#[tokio::test]
async fn case_1_to_5_equal_ids_in_flight_are_kept_apart() {
    let (link, mut server) = pair();
    let ids = [
        "1",
        "1",
        "0",
        "\"0\"",
        "1.0",
        "\"\\u0041\"",
        "18446744073709551615",
    ];
    let mut calls = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        calls.push(call(
            &link,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m{at}"}}"#),
        ));
        assert_eq!(
            server.line().await,
            format!(r#"{{"jsonrpc":"2.0","id":{},"method":"m{at}"}}"#, at + 1)
        );
    }
    for at in (1..=ids.len()).rev() {
        server
            .answers(u32::try_from(at).unwrap(), &format!("{{\"n\":{at}}}"))
            .await;
    }
    for (at, call) in calls.into_iter().enumerate() {
        assert_eq!(
            one(call).await,
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"n":{}}}}}"#,
                ids[at],
                at + 1
            )
        );
    }
}

/// Case 4: an answer travels in the exchange of its call, whose context it must not mix with another's.
#[tokio::test]
async fn case_4_an_answer_is_in_the_exchange_of_its_call() {
    let (link, mut server) = pair();
    let exchange = Arc::new(Exchange::new().with_session("s"));
    let message = parse(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#).with_exchange(Arc::clone(&exchange));
    let calling = start(&link, message);
    server.line().await;
    server.answers(1, "{}").await;
    let Body::One(answer) = calling.await.unwrap().unwrap().body else {
        panic!()
    };
    assert!(Arc::ptr_eq(answer.exchange(), &exchange));
}

/// Case 18: the token the server sees is minted, the client's comes back as it was spelled.
#[tokio::test]
async fn case_18_progress_finds_its_call_with_its_token() {
    for token in ["\"abc\"", "1.0", "7", "\"\\u0041\""] {
        let (link, mut server) = pair();
        let first = call(
            &link,
            &format!(
                r#"{{"jsonrpc":"2.0","id":9,"method":"a","params":{{"_meta":{{"progressToken":{token}, "x":1.10}}}}}}"#
            ),
        );
        assert_eq!(
            server.line().await,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":1, "x":1.10}}}"#
        );
        let second = call(&link, r#"{"jsonrpc":"2.0","id":9,"method":"b"}"#);
        server.line().await;
        server.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0, "progressToken":1}}"#).await;
        server.answers(2, "{}").await;
        server.answers(1, "{}").await;
        let mut events = many(first).await;
        let progress = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":1.0, "progressToken":{token}}}}}"#
        );
        assert_eq!(next(&mut events).await, progress);
        assert_eq!(next(&mut events).await, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
        assert!(events.next().await.is_none());
        assert_eq!(one(second).await, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    }
}

/// Case 19: no token in, no token out, and no progress that nobody asked for.
#[tokio::test]
async fn case_19_no_token_in_no_token_out() {
    let (link, mut server) = pair();
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{}}}"#;
    let calling = call(&link, plain);
    assert_eq!(server.line().await, plain);
    for token in ["1", "99", "\"x\""] {
        server.say(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token}}}}}"#)).await;
    }
    server.answers(1, "{}").await;
    one(calling).await;
    assert_eq!(link.counts().unclaimed, 3);
}

/// A task's progress goes on after its call was answered.
#[tokio::test]
async fn progress_after_the_answer_goes_to_listen() {
    let (link, mut server) = pair();
    let mut events = listen(&link).await;
    let calling = call(
        &link,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"task":{},"_meta":{"progressToken":"t"}}}"#,
    );
    server.line().await;
    server.answers(1, "{}").await;
    one(calling).await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#)
        .await;
    assert_eq!(
        next(&mut events).await,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}"#
    );
}

/// Cases 21 to 23: a cancel goes out at once, with the minted id, for the calls of its own client only.
#[tokio::test]
async fn case_21_to_23_cancel_finds_its_own_call() {
    let (link, mut server) = pair();
    let (alice, bob) = (Arc::new(Connection::new()), Arc::new(Connection::new()));
    let mut calls = Vec::new();
    for (who, id) in [(&alice, "101"), (&bob, "101"), (&alice, "\"101\"")] {
        calls.push(start(
            &link,
            on(who, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"slow"}}"#)),
        ));
        server.line().await;
    }
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":101.0, "reason":"r"}}"#;
    assert!(matches!(
        start(&link, on(&alice, cancel)).await.unwrap().unwrap().body,
        Body::Accepted
    ));
    assert_eq!(
        server.line().await,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1, "reason":"r"}}"#
    );
    // Its late answer is discarded, and the reply is over: no answer follows a cancel.
    server.answers(1, "{}").await;
    let bobs = calls.remove(1);
    assert!(matches!(
        calls.remove(0).await.unwrap().unwrap().body,
        Body::Accepted
    ));
    // A second cancel, and one of a stranger, reach nobody.
    for who in [alice, Arc::new(Connection::new())] {
        start(&link, on(&who, cancel)).await.unwrap().unwrap();
    }
    server.answers(2, "{}").await;
    server.answers(3, "{}").await;
    assert_eq!(one(bobs).await, r#"{"jsonrpc":"2.0","id":101,"result":{}}"#);
    assert_eq!(
        one(calls.remove(0)).await,
        r#"{"jsonrpc":"2.0","id":"101","result":{}}"#
    );
    let _ping = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(server.line().await.contains("ping"), "no other cancel was sent");
    assert_eq!(link.counts().unclaimed, 1);
}

/// Dropping the future or the stream before its end cancels, once; a finished reply does not.
#[tokio::test]
async fn dropping_a_reply_cancels_it() {
    let (link, mut server) = pair();
    let cancel = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    };

    let mut future = task::spawn(
        link.clone()
            .oneshot(parse(r#"{"jsonrpc":"2.0","id":"a","method":"a"}"#)),
    );
    assert_pending!(future.poll());
    server.line().await;
    drop(future);
    assert_eq!(server.line().await, cancel(1));

    let streaming = call(&link, r#"{"jsonrpc":"2.0","id":"a","method":"b"}"#);
    server.line().await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#)
        .await;
    drop(many(streaming).await);
    assert_eq!(server.line().await, cancel(2));

    let done = call(&link, r#"{"jsonrpc":"2.0","id":"a","method":"c"}"#);
    server.line().await;
    server.answers(3, "{}").await;
    one(done).await;
    let _next = call(&link, r#"{"jsonrpc":"2.0","id":"a","method":"d"}"#);
    assert!(
        server.line().await.contains("\"d\""),
        "nothing was sent for a finished reply"
    );
}

/// `initialize` is never cancelled, by nobody.
#[tokio::test]
async fn initialize_is_not_cancelled() {
    let (link, mut server) = pair();
    let client = Arc::new(Connection::new());
    let init = start(
        &link,
        on(&client, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#),
    );
    server.line().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    start(&link, on(&client, cancel)).await.unwrap().unwrap();
    server.answers(1, "{}").await;
    one(init).await;

    let mut dropped = task::spawn(
        link.clone()
            .oneshot(parse(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#)),
    );
    assert_pending!(dropped.poll());
    server.line().await;
    drop(dropped);
    let _ping = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(server.line().await.contains("ping"));
}

#[tokio::test]
async fn a_future_dropped_before_its_first_poll_sends_nothing() {
    let (link, mut server) = pair();
    drop(
        link.clone()
            .oneshot(parse(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)),
    );
    let mut link2 = link.clone();
    drop(link2.call(parse(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)));
    let _ping = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(server.line().await.contains("ping"));
}

/// A cancel overtakes its request while an interceptor holds it: then it is not sent at all.
#[tokio::test]
async fn a_request_cancelled_before_it_is_sent_is_not_sent() {
    let (link, mut server) = pair();
    let message = on(
        &Arc::new(Connection::new()),
        r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
    );
    message.exchange().cancellation().cancel();
    assert!(matches!(
        start(&link, message).await.unwrap().unwrap().body,
        Body::Accepted
    ));
    let _ping = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(server.line().await.contains("ping"));
}

/// Given up while it waits in our own queue, a request is taken back: neither it nor a cancel is sent.
#[tokio::test]
async fn a_request_that_was_not_written_yet_is_taken_back() {
    let (ours, theirs) = tokio::io::duplex(16);
    let (reader, writer) = split(ours);
    let link = Link::new(reader, writer);
    let _first = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"first"}"#);
    tokio::task::yield_now().await;
    let mut second = task::spawn(
        link.clone()
            .oneshot(parse(r#"{"jsonrpc":"2.0","id":2,"method":"second"}"#)),
    );
    assert_pending!(second.poll());
    drop(second);
    let _third = call(&link, r#"{"jsonrpc":"2.0","id":3,"method":"third"}"#);
    let mut lines = BufReader::new(theirs).lines();
    for method in ["first", "third"] {
        assert!(lines.next_line().await.unwrap().unwrap().contains(method));
    }
}

/// The lane of cancels is not behind what waits to be written.
#[tokio::test]
async fn a_cancel_overtakes_what_waits() {
    let (ours, theirs) = tokio::io::duplex(64);
    let (reader, writer) = split(ours);
    let link = Link::new(reader, writer);
    let mut lines = BufReader::new(theirs).lines();
    let mut slow = task::spawn(
        link.clone()
            .oneshot(parse(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#)),
    );
    assert_pending!(slow.poll());
    assert!(lines.next_line().await.unwrap().unwrap().contains("slow"));
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let mut call = task::spawn(link.clone().oneshot(parse(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
            "x".repeat(100)
        ))));
        assert_pending!(call.poll());
        waiting.push(call);
    }
    tokio::task::yield_now().await;
    drop(slow);
    assert!(
        lines.next_line().await.unwrap().unwrap().contains("xxx"),
        "that one was being written"
    );
    assert!(lines.next_line().await.unwrap().unwrap().contains("cancelled"));
}

/// Case 25: a server request in a call whose client id is equal; its answer goes back as it is, once.
#[tokio::test]
async fn case_25_server_requests_and_their_answers_pass() {
    let (link, mut server) = pair();
    let calling = call(
        &link,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#,
    );
    server.line().await;
    let asks = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"x":1e2}}"#;
    server.say(asks).await;
    let mut events = many(calling).await;
    assert_eq!(next(&mut events).await, asks);
    let answer = r#"{"jsonrpc":"2.0","id":1.0,"result":{"model":"m"}}"#;
    for json in [
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        answer,
        answer,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
    ] {
        assert!(matches!(
            call(&link, json).await.unwrap().unwrap().body,
            Body::Accepted
        ));
    }
    assert_eq!(server.line().await, answer);
    server.answers(1, "{}").await;
    assert_eq!(next(&mut events).await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let _ping = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(
        server.line().await.contains("ping"),
        "only the first answer was written"
    );
}

/// A shared server cannot ask anybody: it is told so at once.
#[tokio::test]
async fn case_25_a_shared_server_gets_an_error_for_its_requests() {
    let (link, mut server) = connected(LinkOptions::new().shared(true));
    server
        .say(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#)
        .await;
    let answer = parse(&server.line().await);
    assert_eq!((answer.kind(), answer.id()), (Kind::Error, Some(Id::from("q"))));
    assert_eq!(
        answer.payload().get("/code").unwrap().unwrap().number(),
        Some("-32601")
    );
    drop(link);
}

/// Case 28: what belongs to nobody known is not told to everybody.
#[tokio::test]
async fn case_28_a_shared_server_broadcasts_to_nobody() {
    let (link, mut server) = connected(LinkOptions::new().shared(true));
    let mut events = task::spawn(listen(&link).await);
    let first = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    let second = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    server.line().await;
    server.line().await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"secret"}}"#)
        .await;
    server.answers(1, "{}").await;
    server.answers(2, "{}").await;
    one(first).await;
    one(second).await;
    assert_pending!(events.poll_next());
    assert_eq!(link.counts().unrouted, 1);
}

/// What has no name goes to the only call in flight, else to Listen; list changes always go to Listen.
#[tokio::test]
async fn unnamed_messages_find_their_way() {
    let (link, mut server) = pair();
    let log =
        |n: u32| format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"n":{n}}}}}"#);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    server.say(&log(0)).await;
    // Nobody listens yet: it waits.
    let first = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    server.line().await;
    server.say(changed).await;
    server.say(&log(1)).await;
    let mut first = many(first).await;
    assert_eq!(next(&mut first).await, log(1));
    let mut events = listen(&link).await;
    assert_eq!(next(&mut events).await, log(0));
    assert_eq!(next(&mut events).await, changed);
    let second = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    server.line().await;
    server.say(&log(2)).await;
    assert_eq!(next(&mut events).await, log(2));
    server.answers(2, "{}").await;
    one(second).await;
    server.say(&log(3)).await;
    assert_eq!(next(&mut first).await, log(3));
    // Unread when a listener leaves, a message waits for the next.
    server.say(changed).await;
    server.say(&log(4)).await;
    assert_eq!(next(&mut first).await, log(4));
    drop(events);
    assert_eq!(next(&mut listen(&link).await).await, changed);
}

#[tokio::test]
async fn the_buffer_for_listen_drops_the_oldest_and_answers_what_it_drops() {
    let (link, mut server) = connected(LinkOptions::new().queue_bytes(2_000));
    server
        .say(r#"{"jsonrpc":"2.0","id":"old","method":"roots/list"}"#)
        .await;
    let note = format!(
        r#"{{"jsonrpc":"2.0","method":"n","params":{{"x":"{}"}}}}"#,
        "x".repeat(1_000)
    );
    server.say(&note).await;
    server.say(&note).await;
    let refused = parse(&server.line().await);
    assert_eq!(refused.id(), Some(Id::from("old")));
    assert_eq!(link.counts().unrouted, 2);
    assert_eq!(next(&mut listen(&link).await).await, note);
}

/// Modern: what a `subscriptions/listen` reply carries names the client's id, and logs do not take it for the
/// only call in flight.
#[tokio::test]
async fn subscription_ids_are_given_back() {
    let (link, mut server) = pair();
    let tagged = |method: &str, id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    let calling = call(
        &link,
        r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{}}"#,
    );
    server.line().await;
    for method in [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ] {
        server.say(&tagged(method, "1")).await;
    }
    let mut events = many(calling).await;
    for method in [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ] {
        assert_eq!(next(&mut events).await, tagged(method, "\"sub\""));
    }
    let other = call(&link, r#"{"jsonrpc":"2.0","id":2,"method":"a"}"#);
    server.line().await;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    server.say(log).await;
    assert_eq!(next(&mut many(other).await).await, log);
    server
        .answers(1, r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#)
        .await;
    assert_eq!(
        next(&mut events).await,
        r#"{"jsonrpc":"2.0","id":"sub","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}"#
    );
}

/// Modern: on stdio a server may end a subscription with a cancel.
#[tokio::test]
async fn a_server_may_end_a_subscription_with_a_cancel() {
    let (link, mut server) = pair();
    let calling = call(
        &link,
        r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{}}"#,
    );
    server.line().await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    let mut events = many(calling).await;
    assert_eq!(
        next(&mut events).await,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}"#
    );
    assert!(events.next().await.is_none());
}

/// Trap 1: a layer that holds an event of a reply calls the same server.
#[tokio::test]
async fn the_reader_never_waits_for_a_consumer() {
    let (link, mut server) = pair();
    let holding = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    server.line().await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    server.say(note).await;
    let mut held = many(holding).await;
    for _ in 0..5_000 {
        server.say(note).await;
    }
    let inner = call(&link, r#"{"jsonrpc":"2.0","id":2,"method":"b"}"#);
    server.line().await;
    server.answers(2, "{}").await;
    one(inner).await;
    server.answers(1, "{}").await;
    for _ in 0..=5_000 {
        assert_eq!(next(&mut held).await, note);
    }
    assert_eq!(next(&mut held).await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

/// Trap 2 and case 83: a queue that is full ends its reply with an error; the other calls go on.
#[tokio::test]
async fn case_83_a_slow_reader_hurts_nobody_else() {
    let (link, mut server) = connected(LinkOptions::new().queue_bytes(10_000));
    let slow = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    server.line().await;
    let note = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"x":"{}"}}}}"#,
        "x".repeat(1_000)
    );
    for _ in 0..100 {
        server.say(&note).await;
    }
    assert!(
        server.line().await.contains(r#""requestId":1"#),
        "the server is told to stop"
    );
    let other = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    server.line().await;
    server.answers(1, "{}").await;
    server.answers(2, "{}").await;
    one(other).await;
    let mut events = many(slow).await;
    let mut delivered = 0;
    let error = loop {
        match events.next().await.unwrap() {
            Ok(_) => delivered += 1,
            Err(error) => break error,
        }
    };
    assert!(delivered > 0 && delivered < 10, "{delivered}");
    assert!(error.to_string().contains("too slowly"));
    assert!(events.next().await.is_none());
    assert_eq!(link.counts().overflows, 1);
}

/// Cases 72 and 73: what is no message is skipped and counted; the next message works.
#[tokio::test]
async fn case_72_73_garbage_is_skipped() {
    let (link, mut server) = pair();
    let calling = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    server.line().await;
    for line in [
        "hello",
        "{this is not json",
        "",
        "  ",
        "[1]",
        r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
        r#"{"id":77,"result":{}}"#,
    ] {
        server.say(line).await;
    }
    server.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r").await;
    assert_eq!(one(calling).await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(link.counts().garbage, 5);
}

/// Case 39, and answers that are JSON but no message: the call they name fails, the link lives.
#[tokio::test]
async fn case_39_a_broken_answer_fails_its_call() {
    let (link, mut server) = connected(LinkOptions::new().max_message_bytes(1_000));
    let broken: [&[u8]; 4] = [
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xb0\xa1\"}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":7}\n",
        b"{\"jsonrpc\":\"1.0\",\"id\":3,\"result\":{}}\n",
        &[
            b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":\"".as_slice(),
            &[b'x'; 2_000],
            b"\"}\n",
        ]
        .concat(),
    ];
    for line in broken {
        let calling = call(&link, r#"{"jsonrpc":"2.0","id":"c","method":"a"}"#);
        server.line().await;
        server.writer.write_all(line).await.unwrap();
        let error = calling.await.unwrap().unwrap_err();
        assert_eq!(kind_of(&error), BackendErrorKind::Garbage);
    }
    assert_eq!((link.counts().garbage, link.counts().too_long), (3, 1));
    server.writer.write_all(b"{\"x\":\"\xb0\xa1\"}\n").await.unwrap();
    let calling = call(&link, r#"{"jsonrpc":"2.0","id":"c","method":"a"}"#);
    server.line().await;
    server.answers(5, "{}").await;
    one(calling).await;
}

/// Case 78: the server goes; every pending call says so, and so do later ones.
#[tokio::test]
async fn case_78_a_server_that_goes_fails_every_pending_call() {
    let (link, mut server) = pair();
    let waiting = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    server.line().await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#)
        .await;
    let mut streaming = many(waiting).await;
    next(&mut streaming).await;
    let other = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    server.line().await;
    let mut events = listen(&link).await;
    drop(server);
    for error in [
        streaming.next().await.unwrap().unwrap_err(),
        other.await.unwrap().unwrap_err(),
        events.next().await.unwrap().unwrap_err(),
        call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"c"}"#)
            .await
            .unwrap()
            .unwrap_err(),
        start(&link, Message::listen()).await.unwrap().unwrap_err(),
    ] {
        assert_eq!(kind_of(&error), BackendErrorKind::Unavailable);
    }
    assert!(streaming.next().await.is_none() && events.next().await.is_none());
    assert!(link.is_closed());
    link.closed().await;
}

#[tokio::test(start_paused = true)]
async fn end_closes_in_order() {
    let (link, mut server) = pair();
    let mut events = listen(&link).await;
    let running = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    let hung = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    server.line().await;
    server.line().await;
    start(&link, Message::end()).await.unwrap().unwrap();
    assert_eq!(server.line().await, "", "the server sees the end of its input");
    server.answers(1, "{}").await;
    one(running).await;
    assert_eq!(
        kind_of(&hung.await.unwrap().unwrap_err()),
        BackendErrorKind::Unavailable
    );
    assert!(events.next().await.is_none(), "listening ends without an error");
}

/// The pipes are closed with the last handle, but a reply is one too.
#[tokio::test(start_paused = true)]
async fn the_last_handle_closes_the_link() {
    let (link, mut server) = pair();
    let calling: BoxFuture<'static, _> =
        Box::pin(link.oneshot(parse(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)));
    let calling = tokio::spawn(calling);
    server.line().await;
    server.answers(1, "{}").await;
    one(calling).await;
    assert_eq!(server.line().await, "");
}

/// Case 82: calls do not wait for each other.
#[tokio::test]
async fn case_82_a_fast_call_passes_a_slow_one() {
    let (link, mut server) = pair();
    let mut slow = task::spawn(call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#));
    server.line().await;
    let fast = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"fast"}"#);
    server.line().await;
    server.answers(2, "{}").await;
    one(fast).await;
    assert_pending!(slow.poll());
    server.answers(1, "{}").await;
    tokio::task::yield_now().await;
    let _ = assert_ready!({
        while !slow.is_woken() {
            tokio::task::yield_now().await;
        }
        slow.poll()
    });
}

fn json_id() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        (-99i64..99, 0usize..3).prop_map(|(n, zeros)| format!("{n}.0{}", "0".repeat(zeros))),
        (1u32..99, 0u32..20).prop_map(|(n, e)| format!("{n}e{e}")),
        "[a-c\u{e9}\u{1f600}]{0,6}".prop_map(|text| format!("\"{text}\"")),
        "[a-c]{0,3}".prop_map(|text| format!("\"\\u0041{text}\\/\\n\"")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Ids and tokens survive: the server sees each once, every client gets its own back as it spelled it.
    #[test]
    fn ids_and_tokens_survive(
        calls in prop::collection::vec((json_id(), prop::option::of(json_id())), 1..12),
        order in any::<prop::sample::Index>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (link, mut server) = pair();
            let mut running = Vec::new();
            let mut seen = Vec::new();
            for (at, (id, token)) in calls.iter().enumerate() {
                let meta = token.as_ref().map_or(String::new(), |token| format!(r#","_meta":{{"progressToken":{token}}}"#));
                running.push(call(&link, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"n":{at}{meta}}}}}"#)));
                let line = parse(&server.line().await);
                let minted = line.id().unwrap();
                assert!(!seen.contains(&minted), "each id is minted once");
                assert_eq!(line.progress_token(), token.as_ref().map(|_| minted.as_json()));
                seen.push(minted);
            }
            let first = order.index(seen.len());
            for at in (0..seen.len()).map(|at| (at + first) % seen.len()) {
                let minted = &seen[at];
                if calls[at].1.is_some() {
                    server.say(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"n":{at},"progressToken":{minted}}}}}"#)).await;
                }
                server.say(&format!(r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"n":{at}}}}}"#)).await;
            }
            for (at, calling) in running.into_iter().enumerate() {
                let (id, token) = &calls[at];
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{at}}}}}"#);
                match token {
                    None => assert_eq!(one(calling).await, answer),
                    Some(token) => {
                        let mut events = many(calling).await;
                        let progress = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"n":{at},"progressToken":{token}}}}}"#);
                        assert_eq!(next(&mut events).await, progress);
                        assert_eq!(next(&mut events).await, answer);
                    }
                }
            }
        });
    }
}
