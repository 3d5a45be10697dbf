//! A function that returns a message and not a reply.

use mcp_interceptors::{BoxError, message::Message, middleware::{Next, from_fn}};

async fn echo(message: Message, _: Next) -> Result<Message, BoxError> {
    Ok(message)
}

fn main() {
    let _ = from_fn(echo);
}
