//! How a child is started.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use process_wrap::tokio::{CommandWrap, KillOnDrop};
use tokio::sync::watch;

use super::{ChildBackend, environment::inherited, process};
use crate::{proxy::BackendError, stdio::LinkOptions};

/// A server's command line and how to run it. It can be spawned more than once.
///
/// The child gets of our environment only what programs need to run (`PATH`, `HOME`, the locale and the like)
/// and what is added here.
///
/// ```
/// use mcp_interceptors::stdio::ChildCommand;
///
/// let command = ChildCommand::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("LOG_LEVEL", "debug")
///     .inherit_env("HTTPS_PROXY");
/// ```
#[derive(Clone)]
#[must_use]
pub struct ChildCommand {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    inherit: Vec<OsString>,
    dir: Option<PathBuf>,
    wait: Duration,
    link: LinkOptions,
}

impl ChildCommand {
    /// Runs this program, which is looked up in `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        let name = Path::new(&program)
            .file_name()
            .unwrap_or(&program)
            .to_string_lossy();
        Self {
            link: LinkOptions::new()
                .name(Arc::<str>::from(&*name))
                .gone("the server process has exited, or closed its output"),
            program,
            args: Vec::new(),
            env: Vec::new(),
            inherit: Vec::new(),
            dir: None,
            wait: Duration::from_secs(2),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Passes one more variable of our environment on.
    pub fn inherit_env(mut self, name: impl Into<OsString>) -> Self {
        self.inherit.push(name.into());
        self
    }

    /// The directory to run in: ours unless set.
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// How long the child may take to exit once its input is closed, and again once it got SIGTERM: 2 s unless
    /// set.
    pub fn shutdown_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// What the server is called in log lines: the program's name unless set.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.link = self.link.name(name);
        self
    }

    /// How long a line of the server may be: 10 MiB unless set.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.link = self.link.max_message_bytes(bytes);
        self
    }

    /// How many bytes may wait in one reply that is read too slowly: 8 MiB unless set.
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.link = self.link.queue_bytes(bytes);
        self
    }

    /// Whether clients that know nothing of each other share the child; see [`LinkOptions::shared`].
    pub fn shared(mut self, shared: bool) -> Self {
        self.link = self.link.shared(shared);
        self
    }

    /// Starts the child.
    ///
    /// # Errors
    ///
    /// When the program cannot be started; the error names it.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn spawn(&self) -> Result<ChildBackend, BackendError> {
        let mut command = CommandWrap::with_new(&self.program, |command| {
            command
                .args(&self.args)
                .env_clear()
                .envs(inherited(&self.inherit))
                .envs(self.env.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            if let Some(dir) = &self.dir {
                command.current_dir(dir);
            }
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        let failed = |source| {
            BackendError::unavailable(format!("cannot start the server {:?}", self.program))
                .with_source(source)
        };
        let mut child = command.spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin().take(), child.stdout().take()) else {
            return Err(failed(std::io::Error::other("its pipes are missing")));
        };
        if let Some(stderr) = child.stderr().take() {
            tokio::spawn(process::log_stderr(self.link.server_name(), stderr));
        }
        let id = child.id();
        let link = self.link.clone().linger(self.wait).connect(stdout, stdin);
        let (exit, exited) = watch::channel(None);
        let group = process::Group::new(child);
        tokio::spawn(process::supervise(group, link.watcher(), self.wait, exit));
        Ok(ChildBackend {
            link,
            process: id,
            exited,
        })
    }

    /// The program, for messages.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }
}

/// Without arguments and environment, which may hold secrets.
impl fmt::Debug for ChildCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildCommand")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
