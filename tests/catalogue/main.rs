//! The behaviour catalogue of SEP-2624's implementations, row by row: what concerns the orchestrator, mutators,
//! validators and sinks. A test is named after the rows it holds.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test itself may"
)]

mod failures;
mod layers;
mod matrix;
mod order;
mod overrides;
mod selection;
mod support;
mod timeouts;
mod verdicts;
