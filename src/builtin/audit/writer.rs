//! The thread that writes lines.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

/// How many bytes of lines may wait.
pub(super) const QUEUE_BYTES: usize = 8 * 1024 * 1024;
const WARN_EVERY: Duration = Duration::from_secs(60);

enum Job {
    Line(String),
    Flush(oneshot::Sender<()>),
}

/// What the thread and those that hand lines over share.
#[derive(Default)]
struct Shared {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    shared: Arc<Shared>,
    limit: usize,
}

impl Writer {
    pub(super) fn new(out: Box<dyn io::Write + Send>, limit: usize) -> Self {
        let (jobs, receiver) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let thread = Thread {
            out,
            shared: Arc::clone(&shared),
            torn: false,
            warned: None,
            told: 0,
        };
        let started = thread::Builder::new()
            .name("mcp-audit-log".into())
            .spawn(move || thread.run(&receiver));
        if let Err(error) = started {
            // The receiver is gone with it: each line is counted as lost.
            tracing::error!(%error, "the audit log has no thread: nothing will be recorded");
        }
        Self { jobs, shared, limit }
    }

    /// Never waits. The lines of those that find no room are counted; the thread warns of them.
    pub(super) fn push(&self, line: String) {
        let size = line.len();
        let waiting = self.shared.waiting.fetch_add(size, Ordering::Relaxed);
        if waiting + size > self.limit || self.jobs.send(Job::Line(line)).is_err() {
            self.shared.waiting.fetch_sub(size, Ordering::Relaxed);
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.jobs.send(Job::Flush(done)).is_ok() {
            // An error means that the thread is gone; nothing is left to wait for.
            let _ = wait.await;
        }
    }

    pub(super) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

struct Thread {
    out: Box<dyn io::Write + Send>,
    shared: Arc<Shared>,
    /// Whether half a line may stand at the end.
    torn: bool,
    warned: Option<Instant>,
    /// How many lost lines a warning has told of.
    told: u64,
}

impl Thread {
    /// Ends when the last one that could hand over a line is gone, and all are written.
    fn run(mut self, jobs: &mpsc::Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            self.work(job);
            while let Ok(job) = jobs.try_recv() {
                self.work(job);
            }
            self.flush();
        }
    }

    fn work(&mut self, job: Job) {
        match job {
            Job::Line(line) => self.write(&line),
            Job::Flush(done) => {
                self.flush();
                // Whoever asked may have gone.
                let _ = done.send(());
            }
        }
        self.warn(None);
    }

    fn write(&mut self, line: &str) {
        let torn = self.torn;
        let mut write = || {
            if torn {
                self.out.write_all(b"\n")?;
            }
            self.out.write_all(line.as_bytes())
        };
        let written = write();
        self.torn = written.is_err();
        self.shared.waiting.fetch_sub(line.len(), Ordering::Relaxed);
        if let Err(error) = written {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            self.warn(Some(&error));
        }
    }

    fn flush(&mut self) {
        if let Err(error) = self.out.flush() {
            self.warn(Some(&error));
        }
    }

    fn warn(&mut self, error: Option<&io::Error>) {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        if lost == self.told && error.is_none() {
            return;
        }
        if self.warned.is_some_and(|warned| warned.elapsed() < WARN_EVERY) {
            return;
        }
        self.warned = Some(Instant::now());
        self.told = lost;
        match error {
            Some(error) => tracing::warn!(lost, %error, "the audit log cannot be written"),
            None => tracing::warn!(lost, "the audit log cannot keep up: lines were lost"),
        }
    }
}
