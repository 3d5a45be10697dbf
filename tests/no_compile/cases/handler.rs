//! An argument that no invocation has.

use mcp_interceptors::interceptor::Interceptor;

fn main() {
    let _ = Interceptor::validator("v").on("tools/call").request().handler(|_: u8| async { true });
}
