//! A service that is not `Clone`, under each layer.

use std::{task::{Context, Poll}, time::Duration};

use mcp_interceptors::{BoxError, ServiceBuilderExt, chain::Chain, message::Message, reply::Reply};
use tower::{Service, ServiceBuilder, layer::util::Identity};

struct Mine;

impl Service<Message> for Mine {
    type Response = Reply;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Reply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Message) -> Self::Future {
        std::future::ready(Ok(Reply::accepted()))
    }
}

fn main() {
    let chain = Chain::builder().build().unwrap();
    let _ = ServiceBuilder::new().rescue().service(Mine);
    let _ = ServiceBuilder::new().correlate().service(Mine);
    let _ = ServiceBuilder::new().intercept_client_side(&chain).service(Mine);
    let _ = ServiceBuilder::new().intercept_server_side(&chain).service(Mine);
    let _ = ServiceBuilder::new().mutate(&chain).service(Mine);
    let _ = ServiceBuilder::new().validate(&chain).service(Mine);
    let _ = ServiceBuilder::new().sink(&chain).service(Mine);
    let _ = ServiceBuilder::new().middleware(|message, next| next.run(message)).service(Mine);
    let _ = ServiceBuilder::new().deadline(Duration::from_secs(1)).service(Mine);
    let _ = ServiceBuilder::new().in_flight(1).service(Mine);
    let _ = ServiceBuilder::new().requests_only(Identity::new()).service(Mine);
}
