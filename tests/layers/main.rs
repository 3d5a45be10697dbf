//! The layers: what each one does alone, and that the three stacked by hand do what the fused one does.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test itself may"
)]

mod answers;
mod budgets;
mod contract;
mod deferred;
mod equality;
mod order;
mod overflow;
mod payloads;
mod readiness;
mod runtime;
mod scripted;
mod streams;
mod support;
mod swap;
