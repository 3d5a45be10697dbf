//! An error that is none.

use mcp_interceptors::{ServiceBuilderExt, check, message::Message, reply::Reply};
use tower::ServiceBuilder;

struct Odd;

async fn backend(_: Message) -> Result<Reply, Odd> {
    Err(Odd)
}

fn main() {
    let _ = check(ServiceBuilder::new().service_fn(backend));
    let _ = check(ServiceBuilder::new().rescue().service_fn(backend));
}
