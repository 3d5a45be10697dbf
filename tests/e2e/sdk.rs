//! The official clients, one session per scenario.

use std::io::Write;
use std::process::{ChildStdin, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::expected;
use crate::install;
use crate::process::Running;
use crate::world::{At, Route, Server, Target, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sdk {
    TypeScript,
    Python,
}

impl Sdk {
    pub(crate) const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    pub(crate) fn scenarios(self) -> Vec<&'static str> {
        let mut scenarios = expected::SCENARIOS.to_vec();
        if self == Self::Python {
            scenarios.push("initialize_without_discover");
        }
        scenarios
    }
}

fn server_for(scenario: &str) -> Server {
    match scenario {
        "cancel_reaches_server" | "tools_list_changed" => Server::Witness,
        _ => Server::Everything,
    }
}

/// A client process, which takes scenarios from all tests: starting one costs more than most scenarios.
pub(crate) struct Driver {
    running: Running,
    stdin: Mutex<ChildStdin>,
    next: AtomicU32,
}

/// A scenario at work.
pub(crate) struct Work {
    driver: Arc<Driver>,
    number: u32,
}

impl Driver {
    pub(crate) fn start(world: &World, sdk: Sdk) -> Result<Self, String> {
        let (node, packages) = world.node()?;
        let mut command = match sdk {
            Sdk::TypeScript => {
                let mut command = Command::new(node);
                command.arg(packages.script("client.mjs"));
                command
            }
            Sdk::Python => {
                let (python, script) =
                    install::python_packages(world.tools.python.as_ref().map_err(String::clone)?)?;
                let mut command = Command::new(python);
                command.arg(script);
                command
            }
        };
        // Where the surroundings have an HTTP proxy for the world outside, loopback is not to go through it.
        command
            .arg("--serve")
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1");
        let mut running = Running::start(&format!("the {} client", sdk.name()), &mut command)?;
        let stdin = running.take_stdin().ok_or("no stdin")?;
        Ok(Self {
            running,
            stdin: Mutex::new(stdin),
            next: AtomicU32::new(1),
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.running.stdout.has_ended()
    }

    fn begin(self: Arc<Self>, scenario: &str, at: &At) -> Result<Work, String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let task = match at {
            At::Url(url) => json!({"n": number, "scenario": scenario, "url": url}),
            At::Command(command) => json!({"n": number, "scenario": scenario, "command": command}),
        };
        let line = format!("{task}\n");
        self.stdin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(line.as_bytes())
            .map_err(|e| e.to_string())?;
        Ok(Work { driver: self, number })
    }
}

impl Work {
    /// What the client saw, or what went wrong.
    fn end(self) -> Result<Value, String> {
        let pick = |line: &str| {
            let report: Option<Value> = serde_json::from_str(line).ok();
            report.filter(|report| report["n"] == self.number)
        };
        let report = self.driver.running.stdout.wait_for("the scenario ended", pick);
        let report = report.map_err(|e| format!("{e}\nstderr: {}", self.driver.running.stderr.so_far()))?;
        let stderr = report["stderr"].as_str().unwrap_or_default();
        // Of the proxy, where the client started it.
        if stderr.contains("panicked at") {
            return Err(format!("the proxy panicked:\n{stderr}"));
        }
        match (&report["ok"], &report["saw"]) {
            (Value::Bool(true), saw @ Value::Object(_)) => Ok(saw.clone()),
            _ => Err(format!(
                "{}\nstderr: {stderr}",
                report["error"].as_str().unwrap_or("an odd report")
            )),
        }
    }
}

fn begin(world: &World, sdk: Sdk, scenario: &str, at: &At) -> Result<Work, String> {
    world.driver(sdk)?.begin(scenario, at)
}

/// The two as text, line by line where they differ.
pub(crate) fn compare(saw: &Value, expected: &Value) -> Result<(), String> {
    if saw == expected {
        return Ok(());
    }
    Err(format!("saw\n{saw:#}\nbut expected\n{expected:#}"))
}

/// A failure together with what the proxy logged.
fn with_log<T>(result: Result<T, String>, target: &Target) -> Result<T, String> {
    result.map_err(|e| format!("{e}\nthe proxy logged:\n{}", target.proxy_log()))
}

pub(crate) fn scenario(world: &World, sdk: Sdk, route: Route, scenario: &str) -> Result<(), String> {
    let target = world.target(route, server_for(scenario))?;
    let saw = with_log(
        begin(world, sdk, scenario, &target.at).and_then(Work::end),
        &target,
    )?;
    with_log(compare(&saw, &expected::seen(scenario, sdk)), &target)?;
    target.close()
}

/// Four sessions at the same time through one proxy, which must not mix up their ids, progress and questions.
pub(crate) fn sessions_at_once(world: &World, route: Route) -> Result<(), String> {
    let target = world.target(route, Server::Everything)?;
    let wanted = ["progress", "sampling"]
        .into_iter()
        .flat_map(|scenario| Sdk::ALL.map(|sdk| (sdk, scenario)));
    let wanted: Vec<_> = wanted.collect();
    let begun: Result<Vec<_>, _> = wanted
        .iter()
        .map(|(sdk, scenario)| begin(world, *sdk, scenario, &target.at))
        .collect();
    for (work, (sdk, scenario)) in begun?.into_iter().zip(wanted) {
        let saw = with_log(work.end(), &target)?;
        with_log(compare(&saw, &expected::seen(scenario, sdk)), &target)?;
    }
    target.close()
}

/// As the README has it: the server behind the proxy is started by `npx`, which puts processes in between.
pub(crate) fn through_npx(world: &World) -> Result<(), String> {
    let (_, packages) = world.node()?;
    let marker = crate::world::marker();
    let root = packages.root.to_string_lossy();
    let arguments = [
        "--",
        "npx",
        "--no-install",
        "--prefix",
        &root,
        "mcp-server-everything",
        "stdio",
        &marker,
    ];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let target = world.listening_proxy(&arguments, marker)?;
    for scenario in ["list_tools", "call_tool"] {
        let saw = with_log(
            begin(world, Sdk::TypeScript, scenario, &target.at).and_then(Work::end),
            &target,
        )?;
        with_log(compare(&saw, &expected::seen(scenario, Sdk::TypeScript)), &target)?;
    }
    target.close()
}
