//! skeleton
#![forbid(unsafe_code)]

pub mod interceptor;
