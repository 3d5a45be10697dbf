//! A response that is no reply.

use mcp_interceptors::{BoxError, check, message::Message};

async fn backend(_: Message) -> Result<String, BoxError> {
    Ok(String::new())
}

fn main() {
    let _ = check(tower::service_fn(backend));
}
