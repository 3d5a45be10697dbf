//! What the tests need from this machine, and what is missing.

use std::path::PathBuf;
use std::process::Command;

/// Each either usable, or the reason why tests that need it are skipped.
pub(crate) struct Tools {
    pub(crate) node: Result<PathBuf, String>,
    pub(crate) python: Result<PathBuf, String>,
}

/// What one test needs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs {
    pub(crate) node: bool,
    pub(crate) python: bool,
}

impl Tools {
    pub(crate) fn look() -> Self {
        Self {
            node: node(),
            python: python(),
        }
    }

    /// Why a test with these needs cannot run, if so.
    pub(crate) fn missing(&self, needs: Needs) -> Option<String> {
        let other = [(needs.node, &self.node), (needs.python, &self.python)];
        let reason = other
            .into_iter()
            .find_map(|(needed, tool)| tool.as_ref().err().filter(|_| needed));
        reason.cloned()
    }
}

/// The output of a command that succeeds.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn node() -> Result<PathBuf, String> {
    let found = output(
        "node",
        &["-p", "parseInt(process.versions.node) + ' ' + process.execPath"],
    )
    .ok_or("Node 20 or newer is needed and `node` does not run")?;
    let (major, path) = found.split_once(' ').ok_or("`node` answers in an unknown form")?;
    if major.parse::<u32>().is_ok_and(|major| major < 20) {
        return Err(format!(
            "Node 20 or newer is needed and `node` is version {major}"
        ));
    }
    output("npm", &["--version"]).ok_or("npm is needed and `npm` does not run")?;
    Ok(path.into())
}

fn python() -> Result<PathBuf, String> {
    // Some distributions ship Python without what makes virtual environments.
    let program = "import sys, venv, ensurepip; assert sys.version_info >= (3, 10); print(sys.executable)";
    let found = ["python3", "python"]
        .iter()
        .find_map(|python| output(python, &["-c", program]));
    Ok(found
        .ok_or("Python 3.10 or newer with venv and ensurepip is needed and neither python3 nor python is")?
        .into())
}

/// The program under test; another build of it can be put in its place.
pub(crate) fn program() -> String {
    std::env::var("E2E_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_mcp-interceptors").to_owned())
}
