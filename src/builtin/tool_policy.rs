//! Which tools may be called.

use serde_json::json;

use super::{clip, glob::Glob};
use crate::{
    interceptor::{Interceptor, ValidationResult},
    message::{Payload, PayloadError},
};

/// A validator that says which tools may be called, by globs on their names.
///
/// It judges `tools/call` requests and nothing else: `tools/list` still shows every tool. `*` in a glob stands
/// for any characters and `?` for one; upper and lower case differ. The name is compared as it reads once JSON's
/// escapes are decoded.
///
/// * What a denied glob matches is denied.
/// * As soon as one glob is allowed, every tool that no allowed glob matches is denied, and so is a call that
///   names no tool.
/// * A name that is no text (a number, a lone surrogate) is denied as soon as there is any rule.
///
/// ```
/// use mcp_interceptors::{builtin::ToolPolicy, interceptor::Interceptor};
///
/// let policy: Interceptor = ToolPolicy::new().allow("read_*").allow("search").deny("read_secret*").into();
/// assert_eq!(policy.descriptor().name, "tool-policy");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "turn it into an interceptor and add it to a chain"]
pub struct ToolPolicy {
    name: Option<String>,
    deny: Vec<Glob>,
    allow: Vec<Glob>,
}

impl ToolPolicy {
    /// A policy without a rule, which passes every call.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the interceptor: `tool-policy` unless set.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Denies the tools that this glob matches, also where another glob allows them.
    pub fn deny(mut self, glob: impl AsRef<str>) -> Self {
        self.deny.push(Glob::new(glob.as_ref()));
        self
    }

    /// Allows the tools that this glob matches, and from now on no others.
    pub fn allow(mut self, glob: impl AsRef<str>) -> Self {
        self.allow.push(Glob::new(glob.as_ref()));
        self
    }

    fn judge(&self, payload: &Payload) -> Result<ValidationResult, PayloadError> {
        if self.deny.is_empty() && self.allow.is_empty() {
            return Ok(ValidationResult::pass());
        }
        let Some(name) = payload.get("/name")? else {
            return Ok(if self.allow.is_empty() {
                ValidationResult::pass()
            } else {
                ValidationResult::fail("a call must name its tool").with_path("/name")
            });
        };
        let Some(name) = name.string() else {
            return Ok(ValidationResult::fail("the tool's name is no text").with_path("/name"));
        };
        let any = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(&name));
        let denied = any(&self.deny) || !(self.allow.is_empty() || any(&self.allow));
        let shown = clip(&name, 128);
        let verdict = if denied {
            ValidationResult::fail(format!("the tool {shown:?} is not allowed")).with_path("/name")
        } else {
            ValidationResult::pass()
        };
        Ok(verdict.with_info(json!({ "tool": shown })))
    }
}

impl From<ToolPolicy> for Interceptor {
    fn from(policy: ToolPolicy) -> Self {
        let name = policy.name.clone().unwrap_or_else(|| "tool-policy".into());
        Interceptor::validator(name)
            .description("Says which tools may be called, by globs on their names")
            .on("tools/call")
            .request()
            .state(std::sync::Arc::new(policy))
            .handler(judge)
    }
}

async fn judge(
    crate::interceptor::State(policy): crate::interceptor::State<std::sync::Arc<ToolPolicy>>,
    payload: Payload,
) -> Result<ValidationResult, PayloadError> {
    policy.judge(&payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(policy: &ToolPolicy, params: &str) -> bool {
        let payload = Payload::from_json(params).unwrap();
        !policy.judge(&payload).unwrap().blocks()
    }

    #[test]
    fn denied_and_allowed_globs() {
        let deny = ToolPolicy::new().deny("delete_*");
        let allow = ToolPolicy::new().allow("read_*").deny("read_secret");
        for (policy, params, passes) in [
            (&deny, r#"{"name":"echo"}"#, true),
            (&deny, r#"{"name":"delete_file"}"#, false),
            (&deny, r#"{"name":"d\u0065lete_file"}"#, false),
            (&deny, "{}", true),
            (&deny, r#"{"name":7}"#, false),
            (&deny, r#"{"name":"\ud800"}"#, false),
            (&deny, r#"{"arguments":{"name":"delete_file"}}"#, true),
            (&allow, r#"{"name":"read_file"}"#, true),
            (&allow, r#"{"name":"read_secret"}"#, false),
            (&allow, r#"{"name":"echo"}"#, false),
            (&allow, "{}", false),
            (&allow, r#"{"name":null}"#, false),
            (&ToolPolicy::new(), r#"{"name":7}"#, true),
        ] {
            assert_eq!(verdict(policy, params), passes, "{policy:?} {params}");
        }
    }

    #[test]
    fn a_name_twice_is_a_failure_and_not_a_verdict() {
        let payload = Payload::from_json(r#"{"name":"echo","name":"delete_file"}"#).unwrap();
        assert!(ToolPolicy::new().deny("delete_*").judge(&payload).is_err());
    }

    #[test]
    fn the_reason_escapes_and_clips_the_name() {
        let name = format!("delete_\u{1b}[31m{}", "x".repeat(500));
        let payload = Payload::from_value(&json!({ "name": name })).unwrap();
        let verdict = ToolPolicy::new().deny("*").judge(&payload).unwrap();
        let reason = &verdict.messages[0].message;
        assert!(
            reason.starts_with(r#"the tool "delete_\u{1b}[31mxxx"#),
            "{reason}"
        );
        assert!(reason.len() < 200, "{reason}");
    }
}
