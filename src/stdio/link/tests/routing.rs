//! What belongs to no call by name.

use super::*;

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
            soon(call(&link, json)).await.unwrap().unwrap().body,
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

/// Case 25: a client that never listens is asked all the same, on the call that began last.
#[tokio::test]
async fn case_25_without_a_listener_a_server_request_goes_to_the_last_call() {
    let (link, mut server) = pair();
    let first = call(&link, r#"{"jsonrpc":"2.0","id":"a","method":"slow"}"#);
    server.line().await;
    let second = call(&link, r#"{"jsonrpc":"2.0","id":"b","method":"slow"}"#);
    server.line().await;
    let ask = r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#;
    server.say(ask).await;
    let mut events = many(second).await;
    assert_eq!(next(&mut events).await, ask);
    // One that listens gets it, since it may belong to either.
    let mut listener = listen(&link).await;
    server.say(&ask.replace('9', "10")).await;
    assert_eq!(next(&mut listener).await, ask.replace('9', "10"));
    server.answers(1, "{}").await;
    assert_eq!(one(first).await, r#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
}

/// A call that runs on without its client has nobody to read what is sent for it.
#[cfg(feature = "http")]
#[tokio::test]
async fn what_is_for_a_client_that_has_left_its_call_goes_to_its_listener() {
    let (link, mut server) = pair();
    let left = parse(r#"{"jsonrpc":"2.0","id":"a","method":"slow"}"#);
    let exchange = Arc::clone(left.exchange());
    let running = start(&link, left.with_exchange(Arc::clone(&exchange)));
    server.line().await;
    exchange.leave();
    let ask = r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#;
    server.say(ask).await;
    // It waits for one who comes later, too.
    let mut listener = listen(&link).await;
    assert_eq!(next(&mut listener).await, ask);
    server.answers(1, "{}").await;
    assert_eq!(one(running).await, r#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
}

/// A flood of tiny messages costs more than its bytes.
#[tokio::test]
async fn what_waits_for_a_listener_is_bounded_by_what_it_costs() {
    let (link, mut server) = connected(LinkOptions::new().queue_bytes(10_000));
    for _ in 0..100 {
        server.say(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
    }
    let call = call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
    server.line().await;
    server.answers(1, "{}").await;
    one(call).await;
    let unrouted = link.counts().unrouted;
    assert!((70..100).contains(&unrouted), "{unrouted}");
}
