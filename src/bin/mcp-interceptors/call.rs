//! `mcp-interceptors list`, `invoke` and `chain`: calling interceptor servers from a shell.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgGroup, Args};
use mcp_interceptors::{
    client::Discovery,
    interceptor::{
        ChainParams, ChainResult, ChainStatus, InvocationContext, InvokeParams, ListInterceptorsResult,
        Phase, WireResult,
    },
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{exit::Failure, servers};

/// What to do with a server.
#[derive(Debug, Args)]
#[command(override_usage = "mcp-interceptors list [OPTIONS] (URL | -- COMMAND ARGS...)")]
#[command(group(ArgGroup::new("server").required(true).args(["url", "command"])))]
pub(crate) struct ListArgs {
    /// The server's endpoint
    url: Option<String>,
    /// The server's command line
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Only those that hook this event
    #[arg(long)]
    event: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "mcp-interceptors invoke NAME --event EVENT --phase PHASE --payload FILE (URL | -- COMMAND ARGS...)"
)]
#[command(group(ArgGroup::new("server").required(true).args(["url", "command"])))]
pub(crate) struct InvokeArgs {
    /// The interceptor
    name: String,
    /// The server's endpoint
    url: Option<String>,
    /// The server's command line
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    question: QuestionArgs,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("servers").required(true).multiple(true).args(["interceptor_url", "interceptor_cmd"])))]
pub(crate) struct ChainArgs {
    /// The endpoint of an interceptor server
    #[arg(long, value_name = "URL")]
    interceptor_url: Vec<String>,
    /// The command line of an interceptor server
    #[arg(long, value_name = "COMMAND-LINE")]
    interceptor_cmd: Vec<String>,
    #[command(flatten)]
    question: QuestionArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What interceptors are asked.
#[derive(Debug, Args)]
struct QuestionArgs {
    /// The event: a method such as tools/call
    #[arg(long)]
    event: String,
    /// request or response
    #[arg(long, value_parser = phase)]
    phase: Phase,
    /// A file with the payload: the params of a request, or the result of a response; - is stdin
    #[arg(long, value_name = "FILE")]
    payload: PathBuf,
    /// How long it may take, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
}

/// What came of it: exit code 0 or 1. A failure is 2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Blocked,
}

pub(crate) async fn list(args: &ListArgs) -> Result<Verdict, Failure> {
    let server = servers::one(args.url.as_deref(), &args.command)?;
    let listed = server.list_all(args.event.as_deref()).await;
    server.close().await;
    let listed = listed.map_err(|error| Failure::usage(error.to_string()))?;
    if args.json {
        print(&ListInterceptorsResult::new(listed.interceptors.clone()))?;
    } else {
        for found in &listed.interceptors {
            let hooks = found.hooks.iter().flat_map(|hook| {
                hook.events
                    .iter()
                    .map(move |event| format!("{}:{event}", hook.phase))
            });
            let hooks = hooks.collect::<Vec<_>>().join(" ");
            line(&format!(
                "{}\t{}\t{}\t{hooks}",
                shown(&found.name),
                found.kind,
                found.mode
            ))?;
        }
    }
    match listed.rejected.first() {
        Some(bad) => Err(Failure::usage(format!(
            "entry {} cannot be read: {}",
            bad.index, bad.error
        ))),
        None => Ok(Verdict::Allowed),
    }
}

pub(crate) async fn invoke(args: &InvokeArgs) -> Result<Verdict, Failure> {
    let server = servers::one(args.url.as_deref(), &args.command)?;
    let question = &args.question;
    let payload = payload(&question.payload)?;
    let mut params = InvokeParams::new_raw(&args.name, &question.event, question.phase, payload)
        .with_context(InvocationContext::now());
    params.timeout = question.timeout.map(Duration::from_millis);
    let answer = server.invoke(params).await;
    server.close().await;
    let answer: WireResult = answer.map_err(|error| Failure::usage(error.to_string()))?;
    print(&answer)?;
    match answer.outcome() {
        Some(outcome) if outcome.blocks() => Ok(Verdict::Blocked),
        Some(_) => Ok(Verdict::Allowed),
        None => Err(Failure::usage("the answer is of an unknown type")),
    }
}

pub(crate) async fn chain(args: &ChainArgs) -> Result<Verdict, Failure> {
    let found = servers::all(&args.interceptor_url, &args.interceptor_cmd)?;
    let payload = payload(&args.question.payload)?;
    let discovery = match Discovery::builder().servers(found.clone()).start().await {
        Ok(discovery) => discovery,
        Err(error) => {
            for server in found {
                server.close().await;
            }
            return Err(Failure::usage(error.to_string()));
        }
    };
    let mut params = ChainParams::new_raw(&args.question.event, args.question.phase, payload);
    params.timeout = args.question.timeout.map(Duration::from_millis);
    let result = discovery.chain().current().execute(params).await;
    discovery.close().await;
    if args.json {
        print(&result)?;
    } else {
        readable(&result)?;
    }
    Ok(match result.status {
        ChainStatus::Success => Verdict::Allowed,
        _ => Verdict::Blocked,
    })
}

fn readable(result: &ChainResult) -> Result<(), Failure> {
    line(&format!(
        "{} {} in the {} phase",
        result.status,
        shown(&result.event),
        result.phase
    ))?;
    for step in &result.results {
        let (kind, said) = match step.outcome() {
            Some(outcome) if outcome.blocks() => (outcome.kind().to_string(), "refuses"),
            Some(outcome) => (outcome.kind().to_string(), "ran"),
            None => ("unknown".into(), "answered what is not known here"),
        };
        line(&format!("  {kind} {} {said}", shown(&step.interceptor)))?;
    }
    if let Some(aborted) = &result.aborted_at {
        line(&format!(
            "stopped at {}: {}",
            shown(&aborted.interceptor),
            shown(&aborted.reason)
        ))?;
    }
    match &result.final_payload {
        Some(payload) => line(payload.get()),
        None => Ok(()),
    }
}

/// What a server named, safe for a terminal.
fn shown(text: &str) -> String {
    text.escape_debug().to_string()
}

fn phase(text: &str) -> Result<Phase, String> {
    Phase::ALL
        .into_iter()
        .find(|phase| phase.as_str() == text)
        .ok_or_else(|| "it is request or response".into())
}

fn payload(path: &Path) -> Result<Box<RawValue>, Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::usage(format!("--payload {}: {error}", path.display()));
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}

fn print<T: Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string(value).map_err(|error| Failure::usage(error.to_string()))?;
    line(&json)
}

fn line(text: &str) -> Result<(), Failure> {
    writeln!(io::stdout(), "{text}").map_err(|error| Failure::usage(format!("stdout: {error}")))
}
