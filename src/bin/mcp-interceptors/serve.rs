//! `mcp-interceptors serve`.

use mcp_interceptors::{
    builtin::{SecretRedactor, ToolPolicy},
    server::InterceptorServer,
    stdio,
};

use crate::{cli::ServeArgs, exit::Failure, listen::Front, signals};

/// Hosts the ready-made interceptors until the client is gone or the user ends it.
pub(crate) async fn run(args: ServeArgs) -> Result<(), Failure> {
    let server = server(&args)?;
    // Before the address is announced: whoever waits for that may send a signal at once.
    let shutdown = signals::shutdown();
    match &args.listen {
        Some(address) => {
            Front::bind(address, &args.access)
                .await?
                .serve(server, shutdown)
                .await
        }
        None => stdio::serve(server, shutdown)
            .await
            .map_err(|error| Failure::new("stdin or stdout failed", &error)),
    }
}

fn server(args: &ServeArgs) -> Result<InterceptorServer, Failure> {
    let tools = args.deny_tool.iter().fold(ToolPolicy::new(), ToolPolicy::deny);
    InterceptorServer::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .interceptor(SecretRedactor::new())
        .interceptor(tools)
        .build()
        .map_err(|error| Failure::usage(error.to_string()))
}
