//! skeleton
#![forbid(unsafe_code)]
