//! Credentials: recognising them, and keeping them out of what passes.

mod formats;
mod patterns;
mod redactor;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use patterns::{Found, PatternError, SecretPatterns};
pub use redactor::SecretRedactor;
