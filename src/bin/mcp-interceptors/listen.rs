//! The HTTP front.

use std::{future::Future, net::SocketAddr};

use mcp_interceptors::{
    McpService,
    http::{StreamableHttp, serve},
};
use tokio::net::TcpListener;

use crate::{cli::AccessArgs, exit::Failure};

/// Where MCP is served.
const PATH: &str = "/mcp";

/// An address that is bound, and who may come in.
pub(crate) struct Front {
    listener: TcpListener,
    address: SocketAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Front {
    /// Binds an address. One that other machines reach needs to be meant.
    pub(crate) async fn bind(address: &str, access: &AccessArgs) -> Result<Self, Failure> {
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host(address)
            .await
            .map_err(|error| Failure::usage(format!("--listen {address}: {error}")))?
            .collect();
        let remote = addresses.iter().find(|address| !address.ip().is_loopback());
        if let (Some(remote), false) = (remote, access.allow_remote) {
            return Err(Failure::usage(format!(
                "other machines reach {remote}, and nothing here asks them who they are: listen on \
                     127.0.0.1, or add --allow-remote if that is meant"
            )));
        }
        let failed = |error: std::io::Error| Failure::new(format!("cannot listen on {address}"), &error);
        let listener = TcpListener::bind(&*addresses).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            hosts: access.allow_host.clone(),
            origins: access.allow_origin.clone(),
        })
    }

    /// Where clients find it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves until `shutdown` completes and running exchanges have ended.
    pub(crate) async fn serve(
        self,
        stack: impl McpService,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), Failure> {
        eprintln!("mcp-interceptors: listening on {}", self.url());
        // Under a name that others know, only the operator knows which names are right.
        let any_host = !self.address.ip().is_loopback() && self.hosts.is_empty();
        let mut front = StreamableHttp::new(stack)
            .only_path(PATH)
            .loopback_only(!any_host);
        for host in self.hosts {
            front = front.allow_host(host);
        }
        for origin in self.origins {
            front = front.allow_origin(origin);
        }
        serve(self.listener, front, shutdown)
            .await
            .map_err(|error| Failure::new("the listener failed", &error))
    }
}
