//! Fetches the pinned npm and PyPI packages on first use, below cargo's target directory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const PACKAGE_JSON: &str = include_str!("package.json");
const PACKAGE_LOCK: &str = include_str!("package-lock.json");
const NPMRC: &str = include_str!(".npmrc");
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// The scripts live beside `node_modules`, where Node looks for what they import.
const SCRIPTS: [(&str, &str); 5] = [
    ("client.mjs", include_str!("client.mjs")),
    ("client.py", include_str!("client.py")),
    ("loopback.mjs", include_str!("loopback.mjs")),
    ("mortal_server.mjs", include_str!("mortal_server.mjs")),
    ("witness_server.mjs", include_str!("witness_server.mjs")),
];

/// Where the packages and the scripts are.
#[derive(Clone)]
pub(crate) struct NodePackages {
    pub(crate) root: PathBuf,
    scripts: PathBuf,
}

impl NodePackages {
    pub(crate) fn script(&self, name: &str) -> PathBuf {
        self.scripts.join(name)
    }

    pub(crate) fn everything(&self) -> PathBuf {
        self.root
            .join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    }
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e")
}

fn key(parts: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Makes `name` in the cache unless it is there: fills a private directory and renames it when complete. So there is
/// never a half-filled one under the final name, whoever is interrupted, and of two test programs that do it at the
/// same time the first wins; no lock is left behind by one that was killed. Within this program one at a time fills.
fn once(name: &str, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    let done = cache().join(name);
    if done.is_dir() {
        return Ok(done);
    }
    let private = cache().join(format!("{name}.{}", std::process::id()));
    let io = |e: std::io::Error| format!("{}: {e}", private.display());
    std::fs::create_dir_all(&private).map_err(io)?;
    let filled = fill(&private);
    if filled.is_ok() && std::fs::rename(&private, &done).is_ok() {
        return Ok(done);
    }
    std::fs::remove_dir_all(&private).map_err(io)?;
    filled?;
    if done.is_dir() {
        Ok(done)
    } else {
        Err(format!("{} cannot be put in place", done.display()))
    }
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), String> {
    std::fs::write(directory.join(name), text).map_err(|e| format!("{name}: {e}"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|e| format!("{command:?} does not start: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    Err(format!("{command:?} failed ({}):\n{out}{err}", output.status))
}

pub(crate) fn node_packages() -> Result<NodePackages, String> {
    let root = once(
        &format!("npm-{}", key(&[PACKAGE_JSON, PACKAGE_LOCK])),
        |directory| {
            write(directory, "package.json", PACKAGE_JSON)?;
            write(directory, "package-lock.json", PACKAGE_LOCK)?;
            write(directory, ".npmrc", NPMRC)?;
            let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
            run(Command::new(npm)
                .args(["ci", "--ignore-scripts", "--no-progress"])
                .current_dir(directory))
        },
    )?;
    Ok(NodePackages {
        scripts: scripts_in(&root)?,
        root,
    })
}

fn scripts_in(root: &Path) -> Result<PathBuf, String> {
    let below = root
        .strip_prefix(cache())
        .map_err(|e| e.to_string())?
        .join(format!("scripts-{}", key(&SCRIPTS.map(|s| s.1))));
    once(&below.to_string_lossy(), |directory| {
        SCRIPTS
            .iter()
            .try_for_each(|(name, text)| write(directory, name, text))
    })
}

/// The virtual environment's Python, and the driver beside it.
pub(crate) fn python_packages(python: &Path) -> Result<(PathBuf, PathBuf), String> {
    // An environment is bound to the interpreter that made it.
    let name = format!("venv-{}", key(&[REQUIREMENTS, &python.to_string_lossy()]));
    let bin = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    let root = once(&name, |directory| {
        run(Command::new(python).args(["-m", "venv"]).arg(directory))?;
        write(directory, "requirements.txt", REQUIREMENTS)?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            "requirements.txt",
        ];
        run(Command::new(directory.join(bin)).args(pip).current_dir(directory))
    })?;
    Ok((root.join(bin), scripts_in(&root)?.join("client.py")))
}
