//! Interceptor servers that the arguments name.

use std::ffi::OsString;

use mcp_interceptors::{client::InterceptorServer, stdio::ChildCommand};

use crate::exit::Failure;

/// A server behind a URL, called by it.
pub(crate) fn at_url(url: &str) -> Result<InterceptorServer, Failure> {
    // The name gets into logs: without a query, which may hold a credential.
    let name = url.split(['?', '#']).next().unwrap_or_default();
    InterceptorServer::builder(name)
        .http(url)
        .map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// A server that is a command, called by its command line.
pub(crate) fn of_line(line: &str) -> Result<InterceptorServer, Failure> {
    let words = shlex::split(line)
        .ok_or_else(|| Failure::usage(format!("--interceptor-cmd {line}: a quote is not closed")))?;
    of_words(&words.into_iter().map(Into::into).collect::<Vec<_>>())
}

/// The same, of a command line that is split.
pub(crate) fn of_words(words: &[OsString]) -> Result<InterceptorServer, Failure> {
    let Some((program, args)) = words.split_first() else {
        return Err(Failure::usage(
            "the command line of an interceptor server is empty",
        ));
    };
    let name = words
        .iter()
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    Ok(InterceptorServer::builder(name).command(ChildCommand::new(program).args(args.iter().cloned())))
}

/// The one that `URL | -- COMMAND` names.
pub(crate) fn one(url: Option<&str>, command: &[OsString]) -> Result<InterceptorServer, Failure> {
    match url {
        Some(url) => at_url(url),
        None => of_words(command),
    }
}

/// All that `--interceptor-url` and `--interceptor-cmd` name, URLs first.
pub(crate) fn all(urls: &[String], lines: &[String]) -> Result<Vec<InterceptorServer>, Failure> {
    let urls = urls.iter().map(|url| at_url(url));
    urls.chain(lines.iter().map(|line| of_line(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_as_a_shell_does() {
        assert_eq!(
            of_line("guard --rule 'no rm'").unwrap().name(),
            "guard --rule no rm"
        );
        assert!(of_line("guard 'open").is_err());
        assert!(of_line(" ").is_err());
        assert_eq!(
            at_url("http://localhost/mcp?key=x").unwrap().name(),
            "http://localhost/mcp"
        );
        assert!(at_url("localhost").is_err());
    }
}
