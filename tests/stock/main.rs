//! What the stock layers of tower mean in this stack: on the whole, on a backend, on a single interceptor. Where one
//! cannot do what its name promises, a test shows it, and that ours does.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test itself may"
)]

mod branches;
mod buffer;
mod concurrency;
mod everything;
mod interceptors;
mod load_shed;
mod rate;
mod retry;
mod support;
mod timeout;
