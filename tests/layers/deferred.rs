//! When a sink's event is let go.

use mcp_interceptors::{
    BoxError,
    chain::Side,
    interceptor::{Interceptor, MutationResult},
    message::{Message, Payload},
    mutation::MutationLayer,
    reply::Reply,
    sink::SinkLayer,
    validation::ValidationLayer,
};
use tokio::sync::mpsc::error::TryRecvError;
use tower::{ServiceBuilder, ServiceExt};

use crate::{
    scripted::{answer_sink, backend, chain, deny_answer},
    support::{BUILDS, CALL, Log, SIDES, answer, call, drain, many, next, one, stack, value},
};

fn pass_answer() -> Interceptor {
    Interceptor::validator("pass")
        .on(CALL)
        .response()
        .handler(|| async { true })
}

fn crash_answer() -> Interceptor {
    Interceptor::mutator("crash")
        .on(CALL)
        .response()
        .handler(|| async { Err::<Option<Payload>, _>("boom") })
}

const ANSWER: &str = r#"{"content":[{"text":"hi","type":"text"}]}"#;

#[tokio::test]
async fn an_answer_that_validation_passes_is_sunk_while_the_reply_still_lives() {
    for side in SIDES {
        for build in BUILDS {
            let (sink, mut seen) = answer_sink(CALL);
            let chain = chain([sink, pass_answer()]);
            let service = stack(
                build,
                side,
                &chain,
                backend(&Log::default(), |_| Reply::one(answer())),
            );
            let reply = one(service.oneshot(call()).await.unwrap());
            assert_eq!(next(&mut seen).await, ANSWER, "{build:?} {side:?}");
            assert_eq!(reply, answer());
        }
    }
}

#[tokio::test]
async fn an_answer_that_validation_blocks_is_never_sunk() {
    for side in SIDES {
        for build in BUILDS {
            for streamed in [false, true] {
                let (sink, mut seen) = answer_sink(CALL);
                let chain = chain([sink, deny_answer(CALL)]);
                let backend = backend(&Log::default(), move |_| match streamed {
                    false => Reply::one(answer()),
                    true => many([answer()]),
                });
                let service = stack(build, side, &chain, backend);
                let replies = drain(service.oneshot(call()).await.unwrap()).await;
                assert_eq!(value(&replies[0])["result"]["isError"], true);
                drop(replies);
                chain.flush().await;
                assert_eq!(
                    seen.try_recv(),
                    Err(TryRecvError::Empty),
                    "{build:?} {side:?} {streamed}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_sink_alone_hands_over_when_the_reply_has_left_the_stack() {
    let (sink, mut seen) = answer_sink(CALL);
    let chain = chain([sink]);
    let service = ServiceBuilder::new()
        .layer(SinkLayer::new(&chain))
        .service(backend(&Log::default(), |_| Reply::one(answer())));
    let reply = service.oneshot(call()).await.unwrap();
    chain.flush().await;
    assert_eq!(seen.try_recv(), Err(TryRecvError::Empty));
    drop(reply);
    assert_eq!(next(&mut seen).await, ANSWER);
}

#[tokio::test]
async fn where_no_validator_concerns_the_answer_the_validation_layer_lets_the_event_go() {
    for side in SIDES {
        for build in BUILDS {
            let (sink, mut seen) = answer_sink(CALL);
            let other = Interceptor::validator("other")
                .on("prompts/get")
                .both()
                .handler(|| async { true });
            let chain = chain([sink, other]);
            let backend = backend(&Log::default(), |_| Reply::one(answer()));
            let reply = stack(build, side, &chain, backend).oneshot(call()).await.unwrap();
            assert_eq!(next(&mut seen).await, ANSWER, "{build:?} {side:?}");
            drop(reply);
        }
    }
}

#[tokio::test]
async fn a_mutator_that_fails_behind_the_sink_takes_nothing_back() {
    // On the side of a client an answer is validated, sunk, then mutated: the sink has seen what came in,
    // whether or not a validator looked at it too.
    for with_validator in [false, true] {
        for build in BUILDS {
            let (sink, mut seen) = answer_sink(CALL);
            let mut interceptors = vec![sink, crash_answer()];
            if with_validator {
                interceptors.push(pass_answer());
            }
            let chain = chain(interceptors);
            let backend = backend(&Log::default(), |_| Reply::one(answer()));
            let service = stack(build, Side::Client, &chain, backend);
            let reply = one(service.oneshot(call()).await.unwrap());
            assert_eq!(value(&reply)["result"]["isError"], true);
            assert_eq!(next(&mut seen).await, ANSWER, "{build:?} {with_validator}");
        }
    }
}

#[tokio::test]
async fn a_mutator_that_fails_before_the_sink_leaves_it_nothing() {
    for build in BUILDS {
        let (sink, mut seen) = answer_sink(CALL);
        let chain = chain([sink, crash_answer()]);
        let backend = backend(&Log::default(), |_| Reply::one(answer()));
        let service = stack(build, Side::Server, &chain, backend);
        drop(service.oneshot(call()).await.unwrap());
        chain.flush().await;
        assert_eq!(seen.try_recv(), Err(TryRecvError::Empty), "{build:?}");
    }
}

#[tokio::test]
async fn a_blocks_own_reply_is_not_run_through_the_layers_further_out() {
    for side in SIDES {
        for build in BUILDS {
            let log = Log::default();
            let (sink, mut seen) = answer_sink(CALL);
            let rewrite = {
                let log = log.clone();
                Interceptor::mutator("rewrite")
                    .on(CALL)
                    .response()
                    .handler(move || {
                        log.push("mutated");
                        async { MutationResult::modified(serde_json::json!({"rewritten": true})) }
                    })
            };
            let judge = {
                let log = log.clone();
                Interceptor::validator("judge")
                    .on(CALL)
                    .response()
                    .handler(move || {
                        log.push("judged");
                        async { true }
                    })
            };
            let deny = crate::scripted::deny(CALL);
            let chain = chain([sink, rewrite, judge, deny]);
            let service = stack(build, side, &chain, backend(&log, |_| Reply::one(answer())));
            let reply = one(service.oneshot(call()).await.unwrap());
            assert_eq!(value(&reply)["result"]["isError"], true, "{build:?} {side:?}");
            drop(reply);
            chain.flush().await;
            assert_eq!(log.take(), Vec::<String>::new(), "{build:?} {side:?}");
            assert_eq!(seen.try_recv(), Err(TryRecvError::Empty));
        }
    }
}

#[tokio::test]
async fn a_users_layer_that_replaces_the_answer_lets_the_event_go() {
    let (sink, mut seen) = answer_sink(CALL);
    let chain = chain([sink]);
    let service = ServiceBuilder::new()
        .layer(MutationLayer::new(&chain))
        .layer(ValidationLayer::new(&chain))
        .map_response(|_: Reply| Reply::one(answer()))
        .layer(SinkLayer::new(&chain))
        .service_fn(|_: Message| async { Ok::<_, BoxError>(Reply::one(answer())) });
    let reply = service.oneshot(call()).await.unwrap();
    assert_eq!(next(&mut seen).await, ANSWER);
    drop(reply);
}
