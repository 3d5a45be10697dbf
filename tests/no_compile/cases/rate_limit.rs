//! A layer whose service is not `Clone`, and no buffer in front of it.

use std::time::Duration;

use mcp_interceptors::{BoxError, ServiceBuilderExt, check, message::Message, reply::Reply};
use tower::{ServiceBuilder, limit::RateLimitLayer};

async fn backend(_: Message) -> Result<Reply, BoxError> {
    Ok(Reply::accepted())
}

fn main() {
    let second = Duration::from_secs(1);
    let _ = check(ServiceBuilder::new().rate_limit(1, second).service_fn(backend));
    let _ = ServiceBuilder::new().requests_only(RateLimitLayer::new(1, second)).service_fn(backend);
}
