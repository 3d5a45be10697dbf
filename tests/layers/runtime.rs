//! Without a runtime nothing panics.

use futures::{FutureExt, executor::block_on};
use mcp_interceptors::{
    interceptor::{ChainParams, ChainStatus, Interceptor, Mode, Phase},
    message::Message,
    reply::Reply,
};
use tower::ServiceExt;

use crate::{
    scripted::{answer_sink, backend, chain, deny},
    support::{BUILDS, CALL, Log, SAMPLING, SIDES, answer, call, many, one, stack, value},
};

#[test]
fn sinks_and_audits_are_dropped_and_counted() {
    for side in SIDES {
        for build in BUILDS {
            let (sink, mut seen) = answer_sink(CALL);
            let audit = Interceptor::validator("audit")
                .on(CALL)
                .both()
                .mode(Mode::Audit)
                .handler(|| async { false });
            let chain = chain([sink, audit]);
            let service = stack(
                build,
                side,
                &chain,
                backend(&Log::default(), |_| Reply::one(answer())),
            );
            let reply = block_on(service.oneshot(call())).unwrap();
            assert_eq!(one(reply), answer());
            assert_eq!(chain.dropped(), 3, "{build:?} {side:?}");
            assert!(seen.try_recv().is_err());
            // Nothing is left behind that a flush would wait for.
            assert!(chain.flush().now_or_never().is_some());
        }
    }
}

#[test]
fn an_interceptor_whose_time_cannot_be_kept_fails() {
    for build in BUILDS {
        let log = Log::default();
        let pass = Interceptor::validator("v")
            .on("prompts/get")
            .request()
            .handler(|| async { true });
        let service = stack(
            build,
            SIDES[0],
            chain([pass]),
            backend(&log, |_| Reply::one(answer())),
        );
        let reply = block_on(service.oneshot(crate::support::request_of("prompts/get"))).unwrap();
        assert_eq!(value(&one(reply))["error"]["data"]["kind"], "validation_failed");
        assert_eq!(log.take(), Vec::<String>::new());
    }
}

#[test]
fn a_chain_alone_fails_too() {
    let pass = Interceptor::validator("v")
        .on(CALL)
        .request()
        .handler(|| async { true });
    let result =
        block_on(chain([pass]).execute(ChainParams::new(CALL, Phase::Request, serde_json::json!({}))));
    assert_eq!(result.status, ChainStatus::ValidationFailed);
}

#[test]
fn a_blocked_server_request_that_cannot_be_answered_ends_the_stream_with_an_error() {
    for build in BUILDS {
        let service = stack(
            build,
            SIDES[0],
            chain([deny(SAMPLING)]),
            backend(&Log::default(), |_: &Message| {
                many([crate::support::sampling(), answer()])
            }),
        );
        let reply = block_on(service.oneshot(call())).unwrap();
        let mcp_interceptors::reply::Body::Many(mut events) = reply.body else {
            panic!("a stream")
        };
        let error = block_on(events.next()).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "there is no runtime to answer the server on");
    }
}
