//! The command line.

use std::{ffi::OsString, path::PathBuf};

use clap::{ArgGroup, Args, Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "mcp-interceptors", version, about, arg_required_else_help = true)]
#[command(
    about = "Interceptors for MCP: redact secrets, deny tools and keep an audit log, between any client \
                   and any server"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what interceptors do: five calls through a stack in memory, nothing to set up
    Demo(DemoArgs),
    /// Stand between a client and a server
    ///
    /// The client is served over HTTP (--listen) or stdio (--stdio); the server is reached over HTTP (--url) or
    /// is a command to run (after --). Logs go to stderr; RUST_LOG sets how much.
    Proxy(ProxyArgs),
    /// Host the ready-made interceptors, for clients and gateways that speak SEP-2624
    ///
    /// They are the secret redactor and the tool policy, over HTTP (--listen) or stdio (--stdio).
    Serve(ServeArgs),
    /// List the interceptors of a server
    List(crate::call::ListArgs),
    /// Ask one interceptor; exit code 0 allowed, 1 blocked, 2 failed
    Invoke(crate::call::InvokeArgs),
    /// Run the interceptors of one or more servers as one chain; exit code 0 allowed, 1 blocked, 2 failed
    Chain(crate::call::ChainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Serve the stack of the demonstration over HTTP, for a client of yours, and show each decision
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "mcp-interceptors proxy [OPTIONS] (--listen ADDR | --stdio) (--url URL | -- COMMAND ARGS...)"
)]
#[command(group(ArgGroup::new("client").required(true).args(["listen", "stdio"])))]
#[command(group(ArgGroup::new("server").required(true).args(["url", "command"])))]
pub(crate) struct ProxyArgs {
    /// Serve clients over HTTP at this address, at the path /mcp; port 0 lets the system choose
    #[arg(long, value_name = "ADDR", help_heading = "Client")]
    pub(crate) listen: Option<String>,
    /// Serve one client on stdin and stdout
    // Said here too: clap drops the `requires = "listen"` of these where `--stdio` rules `--listen` out.
    #[arg(
        long,
        help_heading = "Client",
        conflicts_with_all = ["allow_remote", "allow_origin", "allow_host"]
    )]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,

    /// The server's endpoint
    #[arg(long, value_name = "URL", help_heading = "Server", conflicts_with = "env")]
    pub(crate) url: Option<String>,
    /// The server's command line; over HTTP each session gets a process of its own
    #[arg(last = true, value_name = "COMMAND", help_heading = "Server")]
    pub(crate) command: Vec<OsString>,
    /// Give the command a variable of the environment: NAME passes ours on, NAME=VALUE sets it
    #[arg(
        long,
        value_name = "NAME[=VALUE]",
        requires = "command",
        help_heading = "Server"
    )]
    pub(crate) env: Vec<String>,

    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "mcp-interceptors serve [OPTIONS] (--listen ADDR | --stdio)")]
#[command(group(ArgGroup::new("client").required(true).args(["listen", "stdio"])))]
pub(crate) struct ServeArgs {
    /// Serve clients over HTTP at this address, at the path /mcp; port 0 lets the system choose
    #[arg(long, value_name = "ADDR", help_heading = "Client")]
    pub(crate) listen: Option<String>,
    /// Serve one client on stdin and stdout
    #[arg(long, help_heading = "Client")]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Have the tool policy refuse calls of the tools that this glob matches
    #[arg(long, value_name = "GLOB", help_heading = "Interceptors")]
    pub(crate) deny_tool: Vec<String>,
}

/// Who may come in over HTTP.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    /// Listen on an address that other machines reach; nothing here asks them who they are
    #[arg(long, requires = "listen", help_heading = "Client")]
    pub(crate) allow_remote: bool,
    /// Let in the pages of this origin; those of this machine always are
    #[arg(long, value_name = "ORIGIN", requires = "listen", help_heading = "Client")]
    pub(crate) allow_origin: Vec<String>,
    /// Answer to this host name too
    #[arg(long, value_name = "HOST", requires = "listen", help_heading = "Client")]
    pub(crate) allow_host: Vec<String>,
}

/// What the interceptors do.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Replace credentials in what passes, both ways
    #[arg(long, help_heading = "Interceptors")]
    pub(crate) redact_secrets: bool,
    /// Refuse calls of the tools that this glob matches
    #[arg(long, value_name = "GLOB", help_heading = "Interceptors")]
    pub(crate) deny_tool: Vec<String>,
    /// Ask the interceptors of the server at this endpoint too
    #[arg(long, value_name = "URL", help_heading = "Interceptors")]
    pub(crate) interceptor_url: Vec<String>,
    /// Ask the interceptors of the server that this command line runs too
    #[arg(long, value_name = "COMMAND-LINE", help_heading = "Interceptors")]
    pub(crate) interceptor_cmd: Vec<String>,
    /// Show these servers' interceptors only the events that this pattern matches: a name, ns/* or *
    #[arg(long, value_name = "PATTERN", help_heading = "Interceptors")]
    pub(crate) events: Vec<String>,
    /// Append a line of JSON for each decision to this file
    #[arg(long, value_name = "FILE", help_heading = "Interceptors")]
    pub(crate) audit_log: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn one_front_and_one_backend() {
        let parses = |args: &str| Cli::try_parse_from(args.split(' ')).is_ok();
        for good in [
            "x demo",
            "x demo --listen 127.0.0.1:0",
            "x proxy --stdio -- server --flag",
            "x proxy --stdio --url http://localhost/mcp",
            "x proxy --listen 127.0.0.1:0 --url http://localhost/mcp --deny-tool a --deny-tool b*",
            "x proxy --listen 127.0.0.1:0 --env A=b --env C -- server",
            "x serve --stdio --deny-tool a",
            "x serve --listen 127.0.0.1:0",
            "x proxy --stdio --interceptor-url http://localhost/a --interceptor-cmd b --events tools/* -- server",
            "x list http://localhost/mcp",
            "x list --event tools/call -- server --flag",
            "x invoke guard --event tools/call --phase request --payload - http://localhost/mcp",
            "x invoke guard --event tools/call --phase response --payload a.json -- server",
            "x chain --event e --phase request --payload - --interceptor-cmd a --interceptor-url http://b/ --json",
        ] {
            assert!(parses(good), "{good}");
        }
        for bad in [
            "x",
            "x proxy",
            "x proxy --stdio",
            "x proxy -- server",
            "x proxy --stdio --listen 127.0.0.1:0 -- server",
            "x proxy --stdio --url http://localhost/mcp -- server",
            "x proxy --stdio --allow-remote -- server",
            "x proxy --stdio --url http://localhost/mcp --env A",
            "x demo --allow-remote",
            "x serve",
            "x serve --stdio --listen 127.0.0.1:0",
            "x list",
            "x list http://localhost/mcp -- server",
            "x invoke guard --event e --phase both --payload - -- server",
            "x invoke guard --event e --phase request -- server",
            "x chain --event e --phase request --payload -",
        ] {
            assert!(!parses(bad), "{bad}");
        }
    }
}
