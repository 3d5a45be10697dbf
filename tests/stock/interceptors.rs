//! Stock layers on a single interceptor. What they make fail is its failure, and its `failOpen` decides: a validator
//! that must not fail never turns into a pass.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp_interceptors::{
    BoxError, ServiceBuilderExt,
    chain::Chain,
    interceptor::{Interceptor, InterceptorBuilder, Invocation, Outcome, Validator},
};
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};
use tower::{
    ServiceBuilder, ServiceExt,
    filter::FilterLayer,
    limit::{GlobalConcurrencyLimitLayer, RateLimitLayer},
    retry::{Policy, RetryLayer},
    timeout::TimeoutLayer,
};

use crate::support::{Counted, LONG, SECOND, answer, call, passes};

/// What a call gets, and how often the backend was called.
async fn judged_by(chain: &Chain) -> (Value, usize) {
    let count = Counted::default();
    let service = ServiceBuilder::new()
        .rescue()
        .intercept_client_side(chain)
        .service(count.backend());
    let reply = service.oneshot(call(1)).await.unwrap();
    (answer(reply).await, count.get())
}

async fn is_blocked(interceptor: Interceptor) -> bool {
    let chain = Chain::builder().interceptor(interceptor).build().unwrap();
    let (answer, calls) = judged_by(&chain).await;
    let blocked = answer["result"]["isError"] == true;
    assert_eq!(
        calls,
        usize::from(!blocked),
        "what is blocked does not get to the backend"
    );
    blocked
}

fn slow() -> InterceptorBuilder<Validator> {
    Interceptor::validator("v")
        .on("tools/call")
        .request()
        .timeout(2 * LONG)
}

async fn late() -> bool {
    tokio::time::sleep(LONG).await;
    true
}

#[tokio::test(start_paused = true)]
async fn timeout_is_its_failure() {
    let timeout = TimeoutLayer::new(SECOND);
    let started = Instant::now();
    assert!(is_blocked(slow().handler(late).layer(&timeout)).await);
    assert!(!is_blocked(slow().fail_open().handler(late).layer(&timeout)).await);
    assert_eq!(started.elapsed(), 2 * SECOND);
}

fn limit(permits: usize) -> GlobalConcurrencyLimitLayer {
    GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(permits)))
}

/// The interceptor's own budget covers the wait for a permit, which tower's `timeout` does not.
#[tokio::test(start_paused = true)]
async fn concurrency_limit_waits_within_the_budget() {
    let count = Counted::default();
    let full = || {
        let validator = Interceptor::validator("v").on("tools/call").request();
        validator.timeout(3 * SECOND)
    };
    let started = Instant::now();
    assert!(is_blocked(full().handler(|| async { true }).layer(limit(0))).await);
    assert_eq!(started.elapsed(), 3 * SECOND);
    assert!(!is_blocked(passes(&count).layer(limit(1))).await);
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn load_shed_never_turns_a_validator_into_a_pass() {
    let judged = Counted::default();
    let shed = |permits| {
        ServiceBuilder::new()
            .load_shed()
            .layer(limit(permits))
            .into_inner()
    };
    assert!(is_blocked(passes(&judged).layer(shed(0))).await);
    assert_eq!(judged.get(), 0);
    assert!(!is_blocked(passes(&judged).layer(shed(1))).await);
    assert_eq!(judged.get(), 1);
}

/// A breaker in its smallest form: open, it refuses at once; one failure opens it.
#[tokio::test]
async fn an_open_circuit_breaker_never_turns_a_validator_into_a_pass() {
    let (open, judged) = (Arc::new(AtomicBool::new(false)), Counted::default());
    let breaker = {
        let open = Arc::clone(&open);
        FilterLayer::new(move |invocation: Invocation| -> Result<Invocation, BoxError> {
            if open.load(Ordering::SeqCst) {
                return Err("the circuit is open".into());
            }
            Ok(invocation)
        })
    };
    let trip = {
        let (open, judged) = (Arc::clone(&open), judged.clone());
        slow().handler(move || {
            judged.add();
            open.store(true, Ordering::SeqCst);
            async { Err::<bool, BoxError>("the policy service is down".into()) }
        })
    };
    let chain = Chain::builder().interceptor(trip.layer(breaker)).build().unwrap();
    for _ in 0..3 {
        let (answer, calls) = judged_by(&chain).await;
        assert_eq!((&answer["result"]["isError"], calls), (&Value::Bool(true), 0));
        assert!(!answer.to_string().contains("down") && !answer.to_string().contains("circuit"));
    }
    assert_eq!(judged.get(), 1, "the breaker has spared it");
}

#[tokio::test(start_paused = true)]
async fn rate_limit_goes_behind_a_buffer() {
    let judged = Counted::default();
    let layer = ServiceBuilder::new()
        .buffer(8)
        .layer(RateLimitLayer::new(1, Duration::from_secs(2)))
        .into_inner();
    let chain = Chain::builder()
        .interceptor(passes(&judged).layer(layer))
        .build()
        .unwrap();
    let started = Instant::now();
    for _ in 0..2 {
        assert_eq!(judged_by(&chain).await.1, 1);
    }
    assert_eq!((started.elapsed(), judged.get()), (2 * SECOND, 2));
}

/// An interceptor may be asked twice: it has no effect but its verdict.
#[tokio::test]
async fn retry_asks_again() {
    #[derive(Clone)]
    struct OnceMore(usize);
    impl Policy<Invocation, Outcome, BoxError> for OnceMore {
        type Future = std::future::Ready<()>;

        fn retry(
            &mut self,
            _: &mut Invocation,
            result: &mut Result<Outcome, BoxError>,
        ) -> Option<Self::Future> {
            result.as_ref().err()?;
            self.0 = self.0.checked_sub(1)?;
            Some(std::future::ready(()))
        }

        fn clone_request(&mut self, invocation: &Invocation) -> Option<Invocation> {
            Some(invocation.clone())
        }
    }
    let asked = Counted::default();
    let flaky = {
        let asked = asked.clone();
        slow().handler(move || {
            asked.add();
            let well = asked.get() > 1;
            async move {
                if well {
                    Ok(true)
                } else {
                    Err(BoxError::from("a hiccup"))
                }
            }
        })
    };
    assert!(!is_blocked(flaky.layer(RetryLayer::new(OnceMore(1)))).await);
    assert_eq!(asked.get(), 2);
}
