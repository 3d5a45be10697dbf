//! Child processes: their output as lines that a test waits for, and their certain end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long anything may take that a test waits for. Generous: the machines are shared and nothing waits it out.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The lines of one pipe, filled by a thread of its own so that a talkative child never blocks.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<(Mutex<Lines>, Condvar)>);

#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    ended: bool,
}

impl Log {
    fn follow(pipe: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let writer = log.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
                writer.lock().lines.push(
                    String::from_utf8_lossy(&line)
                        .trim_end_matches(['\r', '\n'])
                        .to_owned(),
                );
                writer.0.1.notify_all();
                line.clear();
            }
            writer.lock().ended = true;
            writer.0.1.notify_all();
        });
        log
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the first line that `pick` accepts; an error when the pipe ends or the deadline passes first.
    pub(crate) fn wait_for<T>(&self, what: &str, pick: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        self.wait_from(0, what, pick)
    }

    /// The same among the lines after the first `seen`, see [`Self::count`].
    pub(crate) fn wait_from<T>(
        &self,
        seen: usize,
        what: &str,
        pick: impl Fn(&str) -> Option<T>,
    ) -> Result<T, String> {
        let until = Instant::now() + DEADLINE;
        let mut guard = self.lock();
        let mut checked = seen;
        loop {
            if let Some(found) = guard.lines[checked..].iter().find_map(|line| pick(line)) {
                return Ok(found);
            }
            checked = guard.lines.len();
            let left = until.saturating_duration_since(Instant::now());
            if guard.ended || left.is_zero() {
                let why = if guard.ended {
                    "the pipe ended"
                } else {
                    "the deadline passed"
                };
                return Err(format!(
                    "{why} before {what}; it said:\n{}",
                    guard.lines[seen..].join("\n")
                ));
            }
            guard = self
                .0
                .1
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().lines.len()
    }

    /// Waits until the pipe has ended and returns all of it.
    pub(crate) fn to_end(&self, what: &str) -> Result<String, String> {
        // No line is accepted, so only the end or the deadline is left.
        let result = self.wait_for::<()>(what, |_| None);
        let guard = self.lock();
        if guard.ended {
            Ok(guard.lines.join("\n"))
        } else {
            Err(result.err().unwrap_or_default())
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(crate) fn so_far(&self) -> String {
        self.lock().lines.join("\n")
    }
}

/// A child whose stdin stays open, a lifeline for those that end with it, and that is killed when dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) stdout: Log,
    pub(crate) stderr: Log,
    name: String,
}

impl Running {
    pub(crate) fn start(name: &str, command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{name} does not start: {e}"))?;
        let stdout = child.stdout.take().map(Log::follow).unwrap_or_default();
        let stderr = child.stderr.take().map(Log::follow).unwrap_or_default();
        Ok(Self {
            child,
            stdout,
            stderr,
            name: name.to_owned(),
        })
    }

    /// The child's stdin, for those that want to speak to it; closing it is then up to them.
    pub(crate) fn take_stdin(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits for the child's own end, which closed stdin is to bring about, and that it is a good one.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        drop(self.child.stdin.take());
        self.stdout.to_end(&format!("{} ended", self.name))?;
        let status = self.wait()?;
        let said = self.stderr.so_far();
        let good = status.success() && !said.contains("panicked at");
        good.then_some(())
            .ok_or_else(|| format!("{} ended with {status}; it said:\n{said}", self.name))
    }

    /// Asks as Ctrl-C does, and waits for the end. The shell sends the signal: std cannot, and `unsafe` is forbidden.
    #[cfg(unix)]
    pub(crate) fn interrupt(&mut self) -> Result<ExitStatus, String> {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -INT {}", self.child.id())])
            .status();
        if !sent.is_ok_and(|status| status.success()) {
            return Err(format!("could not interrupt {}", self.name));
        }
        self.wait()
    }

    fn wait(&mut self) -> Result<ExitStatus, String> {
        let name = self.name.clone();
        poll(&format!("{name} exited"), DEADLINE, || {
            self.child.try_wait().ok().flatten()
        })
        .map_err(|e| format!("{e}; it said:\n{}", self.stderr.so_far()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its own handle, and waited for, so that nothing is left behind when a test ends, however it ends.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is something, for what gives no signal (a process that is gone).
pub(crate) fn poll<T>(
    what: &str,
    within: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, String> {
    let until = Instant::now() + within;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() > until {
            return Err(format!("the deadline passed before {what}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The ids of all processes with `marker` among their arguments.
fn marked(marker: &str) -> Vec<String> {
    if let Ok(processes) = std::fs::read_dir("/proc") {
        let has_marker = |id: &String| {
            // A process that ends while we look, or a zombie, has no arguments.
            let arguments = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&arguments)
                .split('\0')
                .any(|argument| argument == marker)
        };
        let ids = processes
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        return ids
            .filter(|id| id.bytes().all(|b| b.is_ascii_digit()))
            .filter(has_marker)
            .collect();
    }
    let listed = Command::new("ps")
        .args(["-A", "-o", "pid=,args="])
        .output()
        .map(|o| o.stdout)
        .unwrap_or_default();
    let lines = String::from_utf8_lossy(&listed).into_owned();
    let ours = lines
        .lines()
        .filter(|line| line.split_whitespace().any(|word| word == marker));
    ours.filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// Waits until a process with this argument runs.
pub(crate) fn wait_until_present(marker: &str) -> Result<(), String> {
    poll(&format!("a process with {marker} ran"), DEADLINE, || {
        (!marked(marker).is_empty()).then_some(())
    })
}

/// How long server processes may outlive what they were started for. A client gives a proxy on stdio four seconds
/// before it kills it, and by then the proxy must have seen to its server.
const LINGER: Duration = Duration::from_secs(10);

/// Waits until no process with this argument is left. One that stays is a failure, and is ended by its id.
pub(crate) fn wait_until_gone(marker: &str) -> Result<(), String> {
    let gone = poll("the server processes were gone", LINGER, || {
        marked(marker).is_empty().then_some(())
    });
    gone.map_err(|e| {
        let left = marked(marker);
        for id in &left {
            let _ = Command::new("sh")
                .args(["-c", &format!("kill -KILL {id}")])
                .status();
        }
        format!("{e}: {left:?} with {marker}")
    })
}
