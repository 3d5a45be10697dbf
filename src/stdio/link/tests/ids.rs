//! Ids and tokens: minted for the server, given back in their spelling.

use proptest::prelude::*;

use super::*;

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
    let Body::One(answer) = soon(calling).await.unwrap().unwrap().body else {
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
