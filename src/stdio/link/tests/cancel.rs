//! Cancels, and replies that are dropped.

use super::*;

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
        soon(start(&link, on(&alice, cancel)))
            .await
            .unwrap()
            .unwrap()
            .body,
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
        soon(start(&link, on(&who, cancel))).await.unwrap().unwrap();
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
    soon(start(&link, on(&client, cancel))).await.unwrap().unwrap();
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
        soon(start(&link, message)).await.unwrap().unwrap().body,
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
