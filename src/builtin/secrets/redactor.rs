//! The redactor.

use std::{fmt, sync::Arc};

use serde_json::json;

use super::{PatternError, SecretPatterns, patterns::Redacted};
use crate::{
    interceptor::{Interceptor, MutationResult, PriorityHint, State},
    message::{Payload, PayloadError},
};

/// A mutator that keeps credentials out of what passes: each one in a string becomes `<redacted:FORMAT>`.
///
/// It works on every request and answer (`*`), on error answers, and on the notifications that carry the
/// content of a call (`notifications/progress`, `notifications/message`, `notifications/tasks`,
/// `notifications/tasks/status`). All other bytes stay as they came. The same text always becomes the same, and redacting twice is redacting once.
///
/// What it leaves alone:
/// * the keys of objects, and numbers;
/// * what is no payload: a message's id, and members beside `params`, `result` and `error` (JSON-RPC has none); of an
///   SSE event all but its `data`;
/// * other notifications, unless they are hooked by name;
/// * the body of an HTTP answer that is no JSON-RPC and no success: a login page, say;
/// * what a mutator may not change unless the chain [frees](crate::chain::ChainBuilder::free) it: a tool's
///   name, a resource's `uri`, `requestState`, the protocol's own members of `_meta`;
/// * secrets that are encoded (base64, percent signs) or spread over several strings;
/// * `initialize` and `server/discover`, which `*` does not cover.
///
/// What only looks like a credential is replaced too: a list's cursor that is a JWT, say, and then it leads nowhere.
/// Patterns of your own alone, or [overrides](crate::chain::Overrides) that narrow the hooks, avoid that.
///
/// A string that has no text, because it holds a lone surrogate, makes it fail, and the message is refused.
///
/// ```
/// use mcp_interceptors::{builtin::SecretRedactor, interceptor::Interceptor};
///
/// let redactor: Interceptor = SecretRedactor::new()
///     .pattern("badge", "BADGE-[0-9]{6}")?
///     .replace_with(|format, _secret| format!("[{format}]"))
///     .into();
/// assert_eq!(redactor.descriptor().name, "secret-redactor");
/// # Ok::<(), mcp_interceptors::builtin::PatternError>(())
/// ```
#[derive(Clone)]
#[must_use = "turn it into an interceptor and add it to a chain"]
pub struct SecretRedactor {
    name: String,
    patterns: SecretPatterns,
    priority: Option<PriorityHint>,
    replace: Arc<Replace>,
}

type Replace = dyn Fn(&str, &str) -> String + Send + Sync;

impl Default for SecretRedactor {
    fn default() -> Self {
        Self::new()
    }
}

impl SecretRedactor {
    /// A redactor with the whole catalogue.
    pub fn new() -> Self {
        Self::with_patterns(SecretPatterns::new())
    }

    /// A redactor with these patterns alone.
    pub fn with_patterns(patterns: SecretPatterns) -> Self {
        Self {
            name: "secret-redactor".into(),
            patterns,
            priority: None,
            replace: Arc::new(|format, _| format!("<redacted:{format}>")),
        }
    }

    /// Names the interceptor: `secret-redactor` unless set.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Where it stands among mutators: lower runs first.
    pub fn priority(mut self, priority: impl Into<PriorityHint>) -> Self {
        self.priority = Some(priority.into());
        self
    }

    /// Adds a pattern; see [`SecretPatterns::pattern`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn pattern(mut self, format: impl Into<String>, pattern: &str) -> Result<Self, PatternError> {
        self.patterns = self.patterns.pattern(format, pattern)?;
        Ok(self)
    }

    /// What to put in place of a secret: a function of its format and of the secret itself. Redacting twice is
    /// redacting once only if what it returns holds no secret.
    pub fn replace_with(mut self, replace: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        self.replace = Arc::new(replace);
        self
    }

    /// The text with every secret replaced; `None` when there is none.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> Option<String> {
        self.patterns
            .redact(text, &*self.replace, &mut Redacted::default())
    }

    pub(super) fn redact(&self, mut payload: Payload) -> Result<MutationResult, PayloadError> {
        let mut found = Redacted::default();
        payload.edit_strings(|text| self.patterns.redact(text, &*self.replace, &mut found))?;
        if found.count == 0 {
            return Ok(MutationResult::unmodified());
        }
        let formats: Vec<_> = found.formats.iter().map(|(_, format)| format).collect();
        Ok(MutationResult::edited(payload).with_info(json!({ "redacted": found.count, "formats": formats })))
    }
}

impl From<SecretRedactor> for Interceptor {
    fn from(redactor: SecretRedactor) -> Self {
        let mut builder = Interceptor::mutator(redactor.name.clone())
            .description("Replaces credentials in strings by the name of their format");
        if let Some(priority) = redactor.priority {
            builder = builder.priority(priority);
        }
        builder
            .on("*")
            .both()
            .on("notifications/progress")
            .and("notifications/message")
            .and("notifications/tasks")
            .and("notifications/tasks/status")
            .request()
            .errors()
            .state(Arc::new(redactor))
            .handler(redact)
    }
}

async fn redact(
    State(redactor): State<Arc<SecretRedactor>>,
    payload: Payload,
) -> Result<MutationResult, PayloadError> {
    redactor.redact(payload)
}

impl fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretRedactor")
            .field("name", &self.name)
            .field("patterns", &self.patterns)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
