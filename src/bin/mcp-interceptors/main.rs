//! The program `mcp-interceptors`: a demonstration, and a proxy with ready-made interceptors.
#![forbid(unsafe_code)]

mod cli;
mod demo;
mod exit;
mod listen;
mod logging;
mod proxy;
mod serve;
mod signals;
mod stack;

use std::{process::ExitCode, time::Duration};

use clap::Parser;

use crate::{
    cli::{Cli, Command},
    exit::Failure,
};

fn main() -> ExitCode {
    // Prints help, the version or what is wrong with the arguments, and exits: 0 or 2.
    let cli = Cli::parse();
    logging::start(matches!(&cli.command, Command::Demo(_)));
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("mcp-interceptors: {failure}");
            failure.code()
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start", &error))?;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Demo(args) => demo::run(&args).await,
            Command::Proxy(args) => proxy::run(args).await,
            Command::Serve(args) => serve::run(args).await,
        }
    });
    // Not `drop`: a thread that reads a terminal's or a pipe's stdin cannot be interrupted.
    runtime.shutdown_timeout(Duration::from_millis(100));
    done
}
