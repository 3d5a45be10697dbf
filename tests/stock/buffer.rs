//! `buffer` is dead for good after one error of `poll_ready`. A backend that is down says so in `call`.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use mcp_interceptors::{
    BoxError, ServiceBuilderExt,
    http::HttpBackend,
    message::Message,
    proxy::{BackendError, McpProxyService},
    reply::Reply,
};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::support::{Counted, answer, call, chain, passes};

/// Fails its `poll_ready` once, and would be well again.
struct Hiccup(bool);

impl Service<Message> for Hiccup {
    type Response = Reply;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Reply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(if std::mem::replace(&mut self.0, true) {
            Ok(())
        } else {
            Err("just now".into())
        })
    }

    fn call(&mut self, _: Message) -> Self::Future {
        std::future::ready(Ok(Reply::accepted()))
    }
}

#[tokio::test]
async fn stock_one_error_of_readiness_kills_it() {
    let service = ServiceBuilder::new().buffer(8).service(Hiccup(false));
    for _ in 0..2 {
        let error = service.clone().oneshot(call(1)).await.unwrap_err();
        assert!(error.to_string().contains("just now"));
    }
}

#[tokio::test]
async fn a_backend_that_cannot_be_reached_does_not_kill_it() {
    // Nothing listens there any more.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let backend = HttpBackend::new(format!("http://{address}/mcp")).unwrap();
    let service = ServiceBuilder::new()
        .buffer(8)
        .service(McpProxyService::new(backend));
    for _ in 0..2 {
        let error = service.clone().oneshot(call(1)).await.unwrap_err();
        assert!(error.is::<BackendError>(), "{error}");
    }
}

#[tokio::test]
async fn it_goes_around_the_whole_stack_and_around_a_backend() {
    let count = Counted::default();
    let service = ServiceBuilder::new()
        .buffer(8)
        .rescue()
        .correlate()
        .intercept_client_side(chain(passes(&Counted::default())))
        .buffer(8)
        .service(count.backend());
    let reply = service.oneshot(call(7)).await.unwrap();
    assert_eq!(answer(reply).await["id"], 7);
    assert_eq!(count.get(), 1);
}

/// A service that is `Send` and no more, and not `Clone`, is fit for a stack behind a buffer.
#[tokio::test]
async fn it_makes_a_service_cloneable() {
    struct Single(#[allow(dead_code, reason = "makes it not Sync")] std::cell::Cell<u8>);
    impl Service<Message> for Single {
        type Response = Reply;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Reply, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Message) -> Self::Future {
            std::future::ready(Ok(Reply::accepted()))
        }
    }
    let service = ServiceBuilder::new()
        .rescue()
        .buffer(1)
        .service(Single(std::cell::Cell::new(0)));
    mcp_interceptors::check(service).oneshot(call(1)).await.unwrap();
}
