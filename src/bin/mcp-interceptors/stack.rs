//! The stack between a front and a backend.

use mcp_interceptors::{
    McpService, ServiceBuilderExt,
    builtin::{AuditLog, SecretRedactor, ToolPolicy},
    chain::{Chain, ChainBuilder, ChainSource},
    client::Discovery,
    interceptor::EventPattern,
    proxy::McpProxyService,
};
use tower::ServiceBuilder;

use crate::{cli::PolicyArgs, exit::Failure, servers};

/// The layers in front of a backend.
pub(crate) fn stack<C: Into<ChainSource>, B: McpService>(
    chain: C,
    backend: B,
) -> impl McpService + use<C, B> {
    ServiceBuilder::new()
        .rescue()
        .correlate()
        .intercept_client_side(chain)
        .service(McpProxyService::new(backend))
}

/// The chain that the arguments ask for, with the interceptors of the servers that they name, and its audit log.
/// The servers have been listed when this returns.
pub(crate) async fn discover(policy: &PolicyArgs) -> Result<(Discovery, Option<AuditLog>), Failure> {
    let (base, audit) = builder(policy)?;
    let servers = servers::all(&policy.interceptor_url, &policy.interceptor_cmd)?;
    let mut discovery = Discovery::builder().servers(servers.clone()).chain(base);
    if !policy.events.is_empty() {
        let events: Result<Vec<EventPattern>, _> = policy.events.iter().map(|event| event.parse()).collect();
        discovery = discovery.events(events.map_err(|error| Failure::usage(format!("--events: {error}")))?);
    }
    match discovery.start().await {
        Ok(discovery) => Ok((discovery, audit)),
        Err(error) => {
            for server in servers {
                server.close().await;
            }
            Err(Failure::said(error.to_string()))
        }
    }
}

fn builder(policy: &PolicyArgs) -> Result<(ChainBuilder, Option<AuditLog>), Failure> {
    let mut chain = Chain::builder();
    if policy.redact_secrets {
        chain = chain.interceptor(SecretRedactor::new());
    }
    if !policy.deny_tool.is_empty() {
        let tools = policy.deny_tool.iter().fold(ToolPolicy::new(), ToolPolicy::deny);
        chain = chain.interceptor(tools);
    }
    let mut audit = None;
    if let Some(path) = &policy.audit_log {
        let log = AuditLog::open(path)
            .map_err(|error| Failure::usage(format!("--audit-log {}: {error}", path.display())))?;
        chain = chain.interceptor(log.clone()).observer(log.clone());
        audit = Some(log);
    }
    Ok((chain, audit))
}
