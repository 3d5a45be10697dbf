//! Time, all of it paused.

use std::{future::pending, time::Duration};

use futures::StreamExt;
use mcp_interceptors::{
    BoxError,
    chain::Chain,
    interceptor::{Interceptor, Mode},
    message::{Message, Payload},
    reply::{Events, Reply},
};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::{
    scripted::{backend, chain},
    support::{BUILDS, Log, MS, SIDES, answer, call, drain, one, request_of, stack, value},
};

const GET: &str = "prompts/get";

fn slow_mutator(name: &str, time: Duration) -> Interceptor {
    Interceptor::mutator(name)
        .on(GET)
        .both()
        .handler(move || async move {
            tokio::time::sleep(time).await;
            None::<Payload>
        })
}

fn slow_validator(name: &str, time: Duration) -> Interceptor {
    Interceptor::validator(name)
        .on(GET)
        .both()
        .handler(move || async move {
            tokio::time::sleep(time).await;
            true
        })
}

#[tokio::test(start_paused = true)]
async fn the_layers_of_a_hand_made_stack_share_one_budget_a_phase() {
    for side in SIDES {
        for build in BUILDS {
            let chain = Chain::builder()
                .interceptor(slow_mutator("m", 600 * MS))
                .interceptor(slow_validator("v", 600 * MS))
                .phase_timeout(1_000 * MS)
                .build()
                .unwrap();
            let log = Log::default();
            let service = stack(build, side, &chain, backend(&log, |_| Reply::one(answer())));
            let started = Instant::now();
            let reply = value(&one(service.oneshot(request_of(GET)).await.unwrap()));
            assert_eq!(started.elapsed(), 1_000 * MS, "{build:?} {side:?}");
            assert_eq!(reply["error"]["code"], -32603);
            assert_eq!(reply["error"]["data"]["kind"], "timeout");
            assert_eq!(log.take(), Vec::<String>::new());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_phase_has_a_budget_of_its_own() {
    for side in SIDES {
        for build in BUILDS {
            let chain = Chain::builder()
                .interceptor(slow_mutator("m", 400 * MS))
                .interceptor(slow_validator("v", 400 * MS))
                .phase_timeout(1_000 * MS)
                .build()
                .unwrap();
            let service = stack(
                build,
                side,
                &chain,
                backend(&Log::default(), |_| Reply::one(answer())),
            );
            let started = Instant::now();
            let reply = one(service.oneshot(request_of(GET)).await.unwrap());
            assert_eq!(started.elapsed(), 1_600 * MS, "{build:?} {side:?}");
            assert_eq!(reply, answer());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_message_of_a_stream_has_a_budget_of_its_own() {
    let slow = Interceptor::mutator("slow")
        .on("notifications/progress")
        .request()
        .handler(|| async {
            tokio::time::sleep(400 * MS).await;
            None::<Payload>
        });
    for build in BUILDS {
        let chain = Chain::builder()
            .interceptor(slow.clone())
            .phase_timeout(500 * MS)
            .build()
            .unwrap();
        let progress = || crate::support::notification("notifications/progress");
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), move |_| {
                crate::support::many([progress(), progress(), answer()])
            }),
        );
        let started = Instant::now();
        let messages = drain(service.oneshot(call()).await.unwrap()).await;
        assert_eq!(messages, [progress(), progress(), answer()]);
        assert_eq!(started.elapsed(), 800 * MS);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interceptor_that_hangs_is_ended_by_its_own_timeout() {
    for build in BUILDS {
        let hang = Interceptor::validator("hang")
            .on(GET)
            .request()
            .timeout(30 * MS)
            .handler(pending::<bool>);
        let service = stack(
            build,
            SIDES[0],
            chain([hang]),
            backend(&Log::default(), |_| Reply::one(answer())),
        );
        let started = Instant::now();
        let reply = value(&one(service.oneshot(request_of(GET)).await.unwrap()));
        assert_eq!(started.elapsed(), 30 * MS);
        assert_eq!(reply["error"]["data"]["kind"], "validation_failed");
        let text = reply["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("the check hang failed (decision "), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_active_work_that_must_not_fail_ends_in_a_timeout() {
    for build in BUILDS {
        let chain = Chain::builder()
            .interceptor(
                Interceptor::validator("open")
                    .on(GET)
                    .request()
                    .fail_open()
                    .handler(pending::<bool>),
            )
            .phase_timeout(50 * MS)
            .build()
            .unwrap();
        let service = stack(
            build,
            SIDES[0],
            &chain,
            backend(&Log::default(), |_| Reply::one(answer())),
        );
        let started = Instant::now();
        assert_eq!(one(service.oneshot(request_of(GET)).await.unwrap()), answer());
        assert_eq!(started.elapsed(), 50 * MS);
    }
}

#[tokio::test(start_paused = true)]
async fn audits_and_sinks_delay_and_block_nothing() {
    for side in SIDES {
        for build in BUILDS {
            let hanging = chain([
                Interceptor::mutator("m")
                    .on("*")
                    .both()
                    .mode(Mode::Audit)
                    .handler(pending::<Option<Payload>>),
                Interceptor::validator("v")
                    .on("*")
                    .both()
                    .mode(Mode::Audit)
                    .handler(pending::<bool>),
                Interceptor::validator("p")
                    .on("*")
                    .both()
                    .mode(Mode::Audit)
                    .handler(|| async { panic!("in an audit") as bool }),
                Interceptor::validator("no")
                    .on("*")
                    .both()
                    .mode(Mode::Audit)
                    .handler(|| async { false }),
                Interceptor::sink("s").on("*").both().handler(pending::<()>),
            ]);
            let service = stack(
                build,
                side,
                &hanging,
                backend(&Log::default(), |_| Reply::one(answer())),
            );
            let started = Instant::now();
            assert_eq!(one(service.oneshot(call()).await.unwrap()), answer());
            assert_eq!(started.elapsed(), Duration::ZERO, "{build:?} {side:?}");
            // And they end: each by its own budget, 30 seconds unless set. The two events of the sink wait
            // for each other.
            hanging.flush().await;
            assert_eq!(started.elapsed(), Duration::from_secs(60), "{build:?} {side:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn slow_then_fast_mutators_keep_the_order_of_a_stream_and_nothing_is_read_ahead() {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };
    const PROGRESS: &str = "notifications/progress";
    for build in BUILDS {
        let slow_first =
            Interceptor::mutator("m")
                .on(PROGRESS)
                .request()
                .handler(|payload: Payload| async move {
                    let wait = payload.value()?["wait"].as_u64().ok_or("no wait")?;
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                    Ok::<_, BoxError>(None::<Payload>)
                });
        let pulled = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&pulled);
        let message =
            |wait: u32| Message::notification(PROGRESS, &serde_json::json!({"wait": wait})).unwrap();
        let service = stack(
            build,
            SIDES[0],
            chain([slow_first]),
            tower::service_fn(move |_: Message| {
                let counter = Arc::clone(&counter);
                let messages = [message(500), message(1), message(0), answer()];
                let stream = futures::stream::iter(messages).map(move |message| {
                    counter.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, BoxError>(message)
                });
                async move { Ok::<_, BoxError>(Reply::many(Events::new(stream))) }
            }),
        );
        let mcp_interceptors::reply::Body::Many(mut events) = service.oneshot(call()).await.unwrap().body
        else {
            panic!("a stream")
        };
        assert_eq!(pulled.load(Ordering::SeqCst), 0);
        for (delivered, expected) in [message(500), message(1), message(0), answer()]
            .iter()
            .enumerate()
        {
            let event = events.next().await.unwrap().unwrap();
            assert_eq!(event.message(), Some(expected), "{build:?}");
            assert_eq!(pulled.load(Ordering::SeqCst), delivered + 1, "{build:?}");
        }
        assert!(events.next().await.is_none());
    }
}
