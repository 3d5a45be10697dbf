//! `mcp-interceptors demo`: what interceptors do, on an embedded server, with nothing to set up.

mod calls;
mod live;
mod paint;
mod print;
mod secrets;
mod server;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use mcp_interceptors::{
    builtin::{SecretRedactor, ToolPolicy},
    chain::{Chain, ChainBuilder, Report},
    interceptor::{Interceptor, SinkResult},
    message::Payload,
};

use crate::{cli::DemoArgs, exit::Failure, listen::Front, logging, signals, stack::stack};
use paint::Paint;
use server::Server;

pub(crate) async fn run(args: &DemoArgs) -> Result<(), Failure> {
    let paint = Paint::new(logging::colours(&io::stdout()));
    match &args.listen {
        None => play(paint).await,
        Some(address) => {
            let shutdown = signals::shutdown();
            let front = Front::bind(address, &args.access).await?;
            show(&print::served(&front.url(), paint))?;
            let chain = built(chain().observer(live::Live::new(paint)))?;
            front
                .serve(stack(&chain, Server::default().service()), shutdown)
                .await
        }
    }
}

/// Makes the five calls and checks that each went as it must.
async fn play(paint: Paint) -> Result<(), Failure> {
    let reports = Reports::default();
    let observed = reports.clone();
    let chain = built(chain().observer(move |report: &Report| observed.push(report)))?;
    let server = Server::default();
    let stack = stack(&chain, server.service());

    show(&print::title(paint))?;
    calls::handshake(stack.clone()).await?;
    chain.flush().await;
    reports.take();
    server.take();

    let mut wrong = 0;
    let calls = calls::all()?;
    let count = calls.len();
    for (number, call) in (1..).zip(calls) {
        let answer = calls::send(stack.clone(), call.request.clone()).await?;
        // The sink runs off the path; the report is whole once it has ended.
        chain.flush().await;
        let seen = calls::Seen {
            reports: reports.take(),
            server: server.take(),
            answer,
        };
        let checked = (call.expect)(&call.request, &seen);
        wrong += usize::from(checked.is_err());
        show(&print::call(number, count, &call, &seen, &checked, paint))?;
    }
    show(&print::end(wrong, paint))?;
    if wrong == 0 {
        Ok(())
    } else {
        Err(Failure::said(format!(
            "{wrong} of {count} calls did not go as they must"
        )))
    }
}

/// One interceptor of each type.
fn chain() -> ChainBuilder {
    let log = Interceptor::sink("call-log")
        .description("Counts the bytes that pass")
        .on("*")
        .both()
        .handler(|payload: Payload| async move {
            SinkResult::recorded().with_metric("bytes", payload.as_json().len())
        });
    Chain::builder()
        .interceptor(SecretRedactor::new())
        .interceptor(ToolPolicy::new().deny("delete_*"))
        .interceptor(log)
}

fn built(chain: ChainBuilder) -> Result<Chain, Failure> {
    chain.build().map_err(|error| Failure::new("the chain", &error))
}

/// What the chain decided, report by report.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<Report>>>);

impl Reports {
    fn push(&self, report: &Report) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(report.clone());
    }

    fn take(&self) -> Vec<Report> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes to stdout. Whoever does not read on (`| head`) is not told of it.
fn show(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new("cannot write to stdout", &error))
        }
        _ => Ok(()),
    }
}
