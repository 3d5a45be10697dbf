//! The stack between a front and a backend.

use mcp_interceptors::{
    McpService, ServiceBuilderExt,
    builtin::{AuditLog, SecretRedactor, ToolPolicy},
    chain::Chain,
    proxy::McpProxyService,
};
use tower::ServiceBuilder;

use crate::{cli::PolicyArgs, exit::Failure};

/// The layers in front of a backend.
pub(crate) fn stack<B: McpService>(chain: &Chain, backend: B) -> impl McpService + use<B> {
    ServiceBuilder::new()
        .rescue()
        .correlate()
        .intercept_client_side(chain)
        .service(McpProxyService::new(backend))
}

/// The chain that the arguments ask for, and its audit log.
pub(crate) fn chain(policy: &PolicyArgs) -> Result<(Chain, Option<AuditLog>), Failure> {
    let mut chain = Chain::builder();
    if policy.redact_secrets {
        chain = chain.interceptor(SecretRedactor::new().into());
    }
    if !policy.deny_tool.is_empty() {
        let tools = policy.deny_tool.iter().fold(ToolPolicy::new(), ToolPolicy::deny);
        chain = chain.interceptor(tools.into());
    }
    let mut audit = None;
    if let Some(path) = &policy.audit_log {
        let log = AuditLog::open(path)
            .map_err(|error| Failure::usage(format!("--audit-log {}: {error}", path.display())))?;
        chain = chain.interceptor(log.clone().into()).observer(log.clone());
        audit = Some(log);
    }
    let chain = chain.build().map_err(|error| Failure::usage(error.to_string()))?;
    Ok((chain, audit))
}
