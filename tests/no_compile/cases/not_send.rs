//! A future that cannot change threads.

use std::rc::Rc;

use mcp_interceptors::{BoxError, check, message::Message, reply::Reply};

async fn backend(_: Message) -> Result<Reply, BoxError> {
    let counter = Rc::new(1);
    std::future::ready(()).await;
    drop(counter);
    Ok(Reply::accepted())
}

fn main() {
    let _ = check(tower::service_fn(backend));
}
