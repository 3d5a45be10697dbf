//! Ready-made interceptors.
//!
//! Each is a struct with a builder's methods that becomes an
//! [`Interceptor`](crate::interceptor::Interceptor) with `into()`:
//!
//! * `SecretRedactor` (feature `redact`), a mutator: keeps credentials out of what passes.
//! * [`ToolPolicy`], a validator: which tools may be called.
//! * [`AuditLog`], an observer and a sink: a line of JSON for each decision.
//!
//! ```
//! use mcp_interceptors::{builtin::{AuditLog, ToolPolicy}, chain::Chain};
//!
//! let audit = AuditLog::new(std::io::sink());
//! let chain = Chain::builder()
//!     .interceptor(ToolPolicy::new().deny("delete_*"))
//!     .interceptor(audit.clone())
//!     .observer(audit)
//!     .build()
//!     .unwrap();
//! ```

mod audit;
mod glob;
#[cfg(feature = "redact")]
mod secrets;
mod tool_policy;

pub use audit::AuditLog;
#[cfg(feature = "redact")]
pub use secrets::{Found, PatternError, SecretPatterns, SecretRedactor};
pub use tool_policy::ToolPolicy;

/// At most `max` characters of a text that a peer chose, for where it is logged or said.
fn clip(text: &str, max: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}
