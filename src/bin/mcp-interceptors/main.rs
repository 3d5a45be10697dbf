//! The program `mcp-interceptors`: a demonstration, and a proxy with ready-made interceptors.
#![forbid(unsafe_code)]

mod call;
mod cli;
mod demo;
mod exit;
mod listen;
mod logging;
mod proxy;
mod serve;
mod servers;
mod signals;
mod stack;

use std::{process::ExitCode, time::Duration};

use clap::Parser;

use crate::{
    call::Verdict,
    cli::{Cli, Command},
    exit::Failure,
};

fn main() -> ExitCode {
    // Prints help, the version or what is wrong with the arguments, and exits: 0 or 2.
    let cli = Cli::parse();
    logging::start(matches!(&cli.command, Command::Demo(_)));
    match run(cli) {
        Ok(Verdict::Allowed) => ExitCode::SUCCESS,
        Ok(Verdict::Blocked) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("mcp-interceptors: {failure}");
            failure.code()
        }
    }
}

fn run(cli: Cli) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start", &error))?;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Demo(args) => demo::run(&args).await.map(|()| Verdict::Allowed),
            Command::Proxy(args) => proxy::run(args).await.map(|()| Verdict::Allowed),
            Command::Serve(args) => serve::run(args).await.map(|()| Verdict::Allowed),
            Command::List(args) => call::list(&args).await,
            Command::Invoke(args) => call::invoke(&args).await,
            Command::Chain(args) => call::chain(&args).await,
        }
    });
    // Not `drop`: a thread that reads a terminal's or a pipe's stdin cannot be interrupted.
    runtime.shutdown_timeout(Duration::from_millis(100));
    done
}
