//! stdio: serve on stdin and stdout, and run servers as child processes.

mod child;
mod frame;
mod lines;
mod link;
mod pool;
mod serve;

pub use child::{ChildBackend, ChildCommand};
pub use link::{Link, LinkCounts, LinkOptions};
pub use pool::ChildPool;
pub use serve::{StdioServer, serve, serve_on};
