//! Limits of time.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use super::*;
use crate::{interceptor::Invocation, server::blocking};

#[tokio::test(start_paused = true)]
async fn py_032_go_009_ts_061_ts_145_a_timeout_is_told_with_its_data() {
    let started = tokio::time::Instant::now();
    let mut params = call("slow", json!({}));
    params["timeoutMs"] = json!(50.0);
    let answer = invoke(&six(), params).await;
    assert_eq!(started.elapsed(), Duration::from_millis(50));
    assert_eq!(
        answer["error"],
        json!({"code": -32000, "message": "the interceptor \"slow\" timed out after 50ms",
            "data": {"kind": "timeout", "interceptor": "slow", "timeoutMs": 50, "phase": "request"}})
    );
}

#[tokio::test(start_paused = true)]
async fn the_shortest_limit_holds() {
    let hosted = |own: Option<u64>| {
        let mut slow = Interceptor::validator("slow").on("tools/call").request();
        if let Some(own) = own {
            slow = slow.timeout(Duration::from_millis(own));
        }
        builder()
            .default_timeout(Duration::from_millis(400))
            .max_timeout(Duration::from_millis(1_000))
            .interceptor(slow.handler(std::future::pending::<bool>))
            .build()
            .unwrap()
    };
    for (own, asked, expected) in [
        (None, None, 400),
        (None, Some(700), 700),
        (None, Some(5_000), 1_000),
        (Some(100), Some(700), 100),
        (Some(900), None, 900),
        (Some(900), Some(200), 200),
    ] {
        let mut params = call("slow", json!({}));
        if let Some(asked) = asked {
            params["timeoutMs"] = json!(asked);
        }
        let answer = invoke(&hosted(own), params).await;
        assert_eq!(
            answer["error"]["data"]["timeoutMs"], expected,
            "{own:?} {asked:?}"
        );
    }
}

/// Its thread sleeps on; who waits has an answer.
#[tokio::test]
async fn ts_062_a_handler_that_blocks_is_answered_for_in_time() {
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    let stuck = blocking(move |_: Invocation| -> Result<ValidationResult, BoxError> {
        let _ = released.lock().unwrap().recv();
        Ok(ValidationResult::pass())
    })
    .at_most(1);
    let server = builder()
        .interceptor(
            Interceptor::validator("stuck")
                .on("tools/call")
                .request()
                .service(stuck.clone()),
        )
        .build()
        .unwrap();
    // The second one finds no thread free, and is answered in time all the same.
    for _ in 0..2 {
        let mut params = call("stuck", json!({}));
        params["timeoutMs"] = json!(40);
        let started = tokio::time::Instant::now();
        let answer = invoke(&server, params).await;
        assert!(
            started.elapsed() < Duration::from_millis(800),
            "{:?}",
            started.elapsed()
        );
        assert_eq!(answer["error"]["code"], -32000);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .ends_with("timed out after 40ms")
        );
        assert_eq!(stuck.running(), 1);
    }
    drop(release);
    let answer = invoke(&server, call("stuck", json!({}))).await;
    assert_eq!(answer["result"]["valid"], true);
    assert_eq!(stuck.running(), 0);
}

#[tokio::test]
async fn a_blocking_handler_that_panics_frees_its_place() {
    let bomb =
        blocking(|_: Invocation| -> Result<ValidationResult, BoxError> { panic!("inner text") }).at_most(1);
    let server = builder()
        .interceptor(
            Interceptor::validator("bomb")
                .on("tools/call")
                .request()
                .service(bomb.clone()),
        )
        .build()
        .unwrap();
    let answer = invoke(&server, call("bomb", json!({}))).await;
    assert_eq!(answer["error"]["data"]["reason"], "panic");
    assert_eq!(bomb.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_drops_the_handler() {
    let held = Arc::new(());
    let weak = Arc::downgrade(&held);
    let server = builder()
        .interceptor(
            Interceptor::validator("slow")
                .on("tools/call")
                .request()
                .state(weak.clone())
                .handler(
                    |crate::interceptor::State(weak): crate::interceptor::State<std::sync::Weak<()>>| async move {
                        let _held = weak.upgrade();
                        std::future::pending::<bool>().await
                    },
                ),
        )
        .build()
        .unwrap();
    let mut client = crate::duplex::connect(server);
    client.send(Message::request(&Id::from(7), "interceptor/invoke", &call("slow", json!({}))).unwrap());
    let pong = client.call(Message::bare_request(&Id::from(8), "ping")).await;
    assert_eq!(pong.as_json(), r#"{"jsonrpc":"2.0","id":8,"result":{}}"#);
    assert_eq!(Arc::strong_count(&held), 2);
    client.send(Message::notification("notifications/cancelled", &json!({"requestId": 7})).unwrap());
    let pong = client.call(Message::bare_request(&Id::from(9), "ping")).await;
    assert_eq!(pong.id(), Some(Id::from(9)));
    assert_eq!(Arc::strong_count(&held), 1);
}
