//! Slow readers, broken lines, and ends.

use super::*;

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
        let error = soon(calling).await.unwrap().unwrap_err();
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
        soon(other).await.unwrap().unwrap_err(),
        events.next().await.unwrap().unwrap_err(),
        call(&link, r#"{"jsonrpc":"2.0","id":1,"method":"c"}"#)
            .await
            .unwrap()
            .unwrap_err(),
        soon(start(&link, Message::listen())).await.unwrap().unwrap_err(),
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
    soon(start(&link, Message::end())).await.unwrap().unwrap();
    assert_eq!(server.line().await, "", "the server sees the end of its input");
    server.answers(1, "{}").await;
    one(running).await;
    assert_eq!(
        kind_of(&soon(hung).await.unwrap().unwrap_err()),
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

/// A server that does not read makes requests wait, bounded in bytes; what is dropped meanwhile makes room.
#[tokio::test]
async fn requests_wait_for_a_server_that_does_not_read() {
    let (link, mut server) = pair();
    let large = |id: u32| {
        parse(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"a","params":{{"x":"{}"}}}}"#,
            "x".repeat(9 << 20)
        ))
    };
    let mut first = task::spawn(link.clone().oneshot(large(1)));
    let mut second = task::spawn(link.clone().oneshot(large(2)));
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    assert_eq!(link.shared.lock().calls.len(), 1, "the second is not even queued");
    drop(second);
    let mut small = task::spawn(
        link.clone()
            .oneshot(parse(r#"{"jsonrpc":"2.0","id":3,"method":"b"}"#)),
    );
    assert_pending!(small.poll());
    assert_eq!(link.shared.lock().calls.len(), 2);
    assert!(server.line().await.contains("xxx"));
    assert!(server.line().await.contains("\"b\""));
    // Gone while a request waits for room: it fails with the others.
    let mut waiting = task::spawn(link.clone().oneshot(large(4)));
    assert_pending!(waiting.poll());
    let mut behind = task::spawn(link.clone().oneshot(large(5)));
    assert_pending!(behind.poll());
    drop(server);
    for mut call in [first, small, waiting, behind] {
        while !call.is_woken() {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            kind_of(&assert_ready!(call.poll()).unwrap_err()),
            BackendErrorKind::Unavailable
        );
    }
}
