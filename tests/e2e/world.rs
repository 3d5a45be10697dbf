//! The servers and proxies that the tests talk to, and the six ways to reach a server.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::install::{self, NodePackages};
use crate::process::{self, Running};
use crate::sdk::{Driver, Sdk};
use crate::tools::{Tools, program};

/// How a client reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// No proxy; shows that the drivers and the expected values are right.
    DirectHttp,
    DirectStdio,
    /// The four combinations, named from the client's side to the server's.
    HttpToUrl,
    HttpToCommand,
    StdioToUrl,
    StdioToCommand,
}

impl Route {
    pub(crate) const ALL: [Self; 6] = [
        Self::DirectHttp,
        Self::DirectStdio,
        Self::HttpToUrl,
        Self::HttpToCommand,
        Self::StdioToUrl,
        Self::StdioToCommand,
    ];
    pub(crate) const PROXIED: [Self; 4] = [
        Self::HttpToUrl,
        Self::HttpToCommand,
        Self::StdioToUrl,
        Self::StdioToCommand,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DirectHttp => "direct_http",
            Self::DirectStdio => "direct_stdio",
            Self::HttpToUrl => "http_to_url",
            Self::HttpToCommand => "http_to_command",
            Self::StdioToUrl => "stdio_to_url",
            Self::StdioToCommand => "stdio_to_command",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Server {
    Everything,
    Witness,
}

/// What a client is pointed at. The proxy, if there is one, lives as long as this.
pub(crate) struct Target {
    pub(crate) at: At,
    proxy: Option<Running>,
    marker: String,
}

pub(crate) enum At {
    Url(String),
    Command(Vec<String>),
}

impl Target {
    /// The end of every test: the proxy goes when it is asked to, without having panicked, and no server process
    /// that was started for this test is left.
    pub(crate) fn close(mut self) -> Result<(), String> {
        if let Some(mut proxy) = self.proxy.take() {
            #[cfg(unix)]
            {
                let status = proxy.interrupt()?;
                // By itself, not by the signal: it drains and then exits.
                if status.code().is_none() {
                    return Err(format!("the proxy did not exit by itself: {status}"));
                }
            }
            let said = proxy.stderr.so_far();
            if said.contains("panicked at") {
                return Err(format!("the proxy panicked:\n{said}"));
            }
        }
        process::wait_until_gone(&self.marker)
    }

    /// What the proxy wrote to stderr, for the message of a test that fails.
    pub(crate) fn proxy_log(&self) -> String {
        self.proxy
            .as_ref()
            .map(|proxy| proxy.stderr.so_far())
            .unwrap_or_default()
    }

    /// An argument that the server processes of this test carry and no others.
    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }

    pub(crate) fn url(&self) -> Result<&str, String> {
        match &self.at {
            At::Url(url) => Ok(url),
            At::Command(_) => Err("this target has no URL".to_owned()),
        }
    }
}

/// All that the tests of one run share: the tools, the packages, the servers on HTTP.
pub(crate) struct World {
    pub(crate) tools: Tools,
    servers: Mutex<HashMap<Server, (String, Running)>>,
    drivers: Mutex<HashMap<Sdk, Arc<Driver>>>,
}

impl World {
    pub(crate) fn new(tools: Tools) -> Self {
        Self {
            tools,
            servers: Mutex::default(),
            drivers: Mutex::default(),
        }
    }

    /// The client process for all scenarios; another one if the last has ended.
    pub(crate) fn driver(&self, sdk: Sdk) -> Result<Arc<Driver>, String> {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = drivers.get(&sdk).filter(|driver| !driver.has_ended()) {
            return Ok(Arc::clone(driver));
        }
        let driver = Arc::new(Driver::start(self, sdk)?);
        drivers.insert(sdk, Arc::clone(&driver));
        Ok(driver)
    }

    /// Ends the shared clients and servers.
    pub(crate) fn close(&self) {
        self.drivers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    pub(crate) fn node(&self) -> Result<(PathBuf, NodePackages), String> {
        Ok((self.tools.node.clone()?, install::node_packages()?))
    }

    /// The command that runs a server on stdio. The marker is an argument that both servers ignore.
    pub(crate) fn stdio_server(&self, server: Server, marker: &str) -> Result<Vec<String>, String> {
        let (node, packages) = self.node()?;
        let script = match server {
            Server::Everything => packages.everything(),
            Server::Witness => packages.script("witness_server.mjs"),
        };
        let arguments = [
            node.to_string_lossy(),
            script.to_string_lossy(),
            "stdio".into(),
            marker.into(),
        ];
        Ok(arguments.map(std::borrow::Cow::into_owned).to_vec())
    }

    /// The URL of a server on HTTP; started once and shared, as it keeps its sessions apart.
    pub(crate) fn http_server(&self, server: Server) -> Result<String, String> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((url, _)) = servers.get(&server) {
            return Ok(url.clone());
        }
        let (node, packages) = self.node()?;
        let mut command = Command::new(node);
        match server {
            Server::Everything => {
                command
                    .arg("--import")
                    .arg(packages.script("loopback.mjs"))
                    .arg(packages.everything());
                command.arg("streamableHttp").env("PORT", "0")
            }
            Server::Witness => command.arg(packages.script("witness_server.mjs")).arg("http"),
        };
        let running = Running::start(&format!("{server:?} server"), &mut command)?;
        let port = running.stderr.wait_for("the server listened", |line| {
            line.strip_prefix("bound to port ").map(str::to_owned)
        })?;
        let url = format!("http://127.0.0.1:{port}/mcp");
        servers.insert(server, (url.clone(), running));
        Ok(url)
    }

    /// What `proxy …` is to be given so that it reaches the server.
    fn backend(&self, route: Route, server: Server, marker: &str) -> Result<Vec<String>, String> {
        if matches!(route, Route::HttpToUrl | Route::StdioToUrl) {
            return Ok(vec!["--url".to_owned(), self.http_server(server)?]);
        }
        let mut arguments = vec!["--".to_owned()];
        arguments.extend(self.stdio_server(server, marker)?);
        Ok(arguments)
    }

    pub(crate) fn target(&self, route: Route, server: Server) -> Result<Target, String> {
        let marker = marker();
        if route == Route::DirectHttp {
            return Ok(Target {
                at: At::Url(self.http_server(server)?),
                proxy: None,
                marker,
            });
        }
        if route == Route::DirectStdio {
            return Ok(Target {
                at: At::Command(self.stdio_server(server, &marker)?),
                proxy: None,
                marker,
            });
        }
        let backend = self.backend(route, server, &marker)?;
        if matches!(route, Route::HttpToUrl | Route::HttpToCommand) {
            return self.listening_proxy(&backend, marker);
        }
        self.stdio_proxy(&backend, marker)
    }

    /// The command of a proxy on stdio, with any further arguments; the client starts it.
    pub(crate) fn stdio_proxy(&self, arguments: &[String], marker: String) -> Result<Target, String> {
        let program = program();
        let mut command = vec![program, "proxy".to_owned(), "--stdio".to_owned()];
        command.extend_from_slice(arguments);
        Ok(Target {
            at: At::Command(command),
            proxy: None,
            marker,
        })
    }

    /// A proxy that listens, with any further arguments.
    pub(crate) fn listening_proxy(&self, arguments: &[String], marker: String) -> Result<Target, String> {
        let mut command = Command::new(program());
        command.args(["proxy", "--listen", "127.0.0.1:0"]).args(arguments);
        let proxy = Running::start("the proxy", &mut command)?;
        let url = proxy.stderr.wait_for("the proxy listened", listening_on)?;
        Ok(Target {
            at: At::Url(url),
            proxy: Some(proxy),
            marker,
        })
    }
}

/// The URL in the line by which the proxy announces itself.
fn listening_on(line: &str) -> Option<String> {
    let (_, url) = line.split_once("listening on ")?;
    let url = url.split_whitespace().next()?;
    let port = url.strip_prefix("http://127.0.0.1:")?.strip_suffix("/mcp")?;
    port.parse::<u16>()
        .ok()
        .filter(|port| *port != 0)
        .map(|_| url.to_owned())
}

/// A word that no other process on this machine has among its arguments.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "e2e-marker-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}
