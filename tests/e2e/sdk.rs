//! The official clients, one process per scenario.

use std::process::Command;

use serde_json::Value;

use crate::expected;
use crate::install;
use crate::process::{Finished, Running};
use crate::world::{At, Route, Server, Target, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A driver at work on one scenario.
pub(crate) fn drive(world: &World, sdk: Sdk, scenario: &str, at: &At) -> Result<Running, String> {
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
    command.arg(scenario);
    match at {
        At::Url(url) => command.args(["--url", url]),
        At::Command(words) => command.arg("--").args(words),
    };
    // Where the surroundings have an HTTP proxy for the world outside, loopback is not to go through it.
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    Running::start(&format!("the {} client", sdk.name()), &mut command)
}

/// What a driver has to say at its end: what it saw, or what went wrong.
pub(crate) fn saw(driver: Running) -> Result<Value, String> {
    let Finished {
        status,
        stdout,
        stderr,
    } = driver.finish()?;
    let context = format!("{status}\nstdout: {stdout}\nstderr: {stderr}");
    let report: Value = serde_json::from_str(&stdout).map_err(|e| format!("no report: {e}; {context}"))?;
    match (status.success(), &report["ok"], &report["saw"]) {
        (true, Value::Bool(true), saw @ Value::Object(_)) => Ok(saw.clone()),
        _ => Err(format!(
            "{}\n{context}",
            report["error"].as_str().unwrap_or("an odd report")
        )),
    }
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
    let saw = with_log(drive(world, sdk, scenario, &target.at).and_then(saw), &target)?;
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
    let drivers: Result<Vec<_>, _> = wanted
        .iter()
        .map(|(sdk, scenario)| drive(world, *sdk, scenario, &target.at))
        .collect();
    for (driver, (sdk, scenario)) in drivers?.into_iter().zip(wanted) {
        let saw = with_log(saw(driver), &target)?;
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
            drive(world, Sdk::TypeScript, scenario, &target.at).and_then(saw),
            &target,
        )?;
        with_log(compare(&saw, &expected::seen(scenario, Sdk::TypeScript)), &target)?;
    }
    target.close()
}
