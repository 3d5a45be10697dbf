//! Logs, to stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// The target of the program's own lines. The crate's are those of its modules.
pub(crate) const PROGRAM: &str = "program";

/// Starts logging: what `RUST_LOG` says, else warnings and what the program itself has to say. The
/// demonstration shows by itself what interceptors decide: there it is errors.
pub(crate) fn start(is_demo: bool) {
    let asked = std::env::var(EnvFilter::DEFAULT_ENV)
        .ok()
        .filter(|asked| !asked.is_empty());
    let default = || {
        EnvFilter::new(if is_demo {
            "error".into()
        } else {
            format!("warn,{PROGRAM}=info")
        })
    };
    let (filter, wrong) = match asked.map(|asked| EnvFilter::try_new(&asked)) {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (default(), Some(error)),
        None => (default(), None),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colours(&io::stderr()))
        .init();
    if let Some(error) = wrong {
        tracing::warn!(target: PROGRAM, %error, "RUST_LOG is ignored");
    }
}

/// Whether to write colours there: to a terminal, unless `NO_COLOR` says otherwise.
pub(crate) fn colours(out: &impl IsTerminal) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !no_color && !dumb && out.is_terminal()
}
