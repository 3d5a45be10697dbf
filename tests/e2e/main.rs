//! End to end: clients and servers that nobody here wrote, directly and through the program.
//!
//! `cargo test --all-features --test e2e` runs all of it and fetches the pinned npm and PyPI packages on first use.
//! Without Node or Python the tests that need them are listed as ignored, with the reason in their name; with
//! `CI=true` they fail instead. The direct routes have no proxy: they show that the expected values are right.

// Real processes in real time; the ban is there for code under tokio's paused clock.
#![allow(clippy::disallowed_types)]

mod backend;
mod bytes;
mod expected;
mod failures;
mod guards;
mod install;
mod process;
mod sdk;
mod tools;
mod wire;
mod world;

use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::guards::Front;
use crate::sdk::Sdk;
use crate::tools::{Needs, Tools};
use crate::world::{Route, World};

/// Collects the tests, each with what it needs.
struct Plan {
    world: Arc<World>,
    in_ci: bool,
    trials: Vec<Trial>,
}

impl Plan {
    fn add<F>(&mut self, name: &str, needs: Needs, test: F)
    where
        F: FnOnce(&World) -> Result<(), String> + Send + 'static,
    {
        let trial = match self.world.tools.missing(needs) {
            None => {
                let world = Arc::clone(&self.world);
                Trial::test(name, move || test(&world).map_err(Failed::from))
            }
            Some(missing) => {
                let name = format!("{name} (skipped: {missing})");
                // Also for those who ask for the ignored ones to be run.
                Trial::test(name, move || Err(Failed::from(missing))).with_ignored_flag(!self.in_ci)
            }
        };
        self.trials.push(trial);
    }
}

fn main() {
    let mut arguments = Arguments::from_args();
    // Most of the time a test waits for other processes, so there may be more of them than cores.
    arguments.test_threads.get_or_insert(4);
    let world = Arc::new(World::new(Tools::look()));
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut plan = Plan {
        world: Arc::clone(&world),
        in_ci,
        trials: Vec::new(),
    };

    for (sdk, route) in Sdk::ALL
        .into_iter()
        .flat_map(|sdk| Route::ALL.map(|route| (sdk, route)))
    {
        let needs = Needs {
            node: true,
            python: sdk == Sdk::Python,
        };
        for scenario in sdk.scenarios() {
            let name = format!("{}::{}::{scenario}", sdk.name(), route.name());
            plan.add(&name, needs, move |world| {
                sdk::scenario(world, sdk, route, scenario)
            });
        }
    }
    let all = Needs {
        node: true,
        python: true,
    };
    for route in [Route::HttpToUrl, Route::HttpToCommand] {
        plan.add(
            &format!("sessions_at_once::{}", route.name()),
            all,
            move |world| sdk::sessions_at_once(world, route),
        );
    }
    let only_node = Needs { python: false, ..all };
    plan.add("npx::http_to_command", only_node, sdk::through_npx);

    for route in Route::PROXIED {
        plan.add(&format!("bytes::{}", route.name()), only_node, move |world| {
            bytes::same_as_direct(world, route)
        });
    }

    let nothing = Needs::default();
    type OnFront = fn(&World, Front) -> Result<(), String>;
    let guards: [(&str, OnFront); 4] = [
        ("redacts_requests", guards::redacts_requests),
        ("redacts_responses", guards::redacts_responses),
        ("denies_tools", guards::denies_tools),
        ("audits", guards::audits),
    ];
    for ((name, guard), front) in guards
        .into_iter()
        .flat_map(|guard| Front::ALL.map(|front| (guard, front)))
    {
        plan.add(
            &format!("guards::{}::{name}", front.name()),
            nothing,
            move |world| guard(world, front),
        );
    }

    type Plain = fn(&World) -> Result<(), String>;
    let failures: [(&str, Needs, Plain); 5] = [
        (
            "bad_messages_go_no_further",
            nothing,
            failures::bad_messages_go_no_further,
        ),
        (
            "bad_lines_go_no_further",
            nothing,
            failures::bad_lines_go_no_further,
        ),
        ("backend_down", nothing, failures::backend_down),
        ("command_dies", only_node, failures::command_dies),
        (
            "interrupt_ends_children",
            only_node,
            failures::interrupt_ends_children,
        ),
    ];
    for (name, needs, test) in failures {
        plan.add(&format!("failures::{name}"), needs, test);
    }

    let conclusion = libtest_mimic::run(&arguments, plan.trials);
    world.close();
    conclusion.exit();
}
