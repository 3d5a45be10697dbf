//! What the demonstration prints.

use std::time::Duration;

use mcp_interceptors::{
    chain::{Record, Report},
    interceptor::{InterceptorType, Outcome, Phase},
    message::Message,
};
use serde_json::Value;

use super::{
    calls::{Call, Seen},
    paint::{Ink, Paint, escaped},
    secrets,
};

const WIDTH: usize = 80;
/// Where what is said begins.
const INDENT: usize = 16;
const MAX_LINES: usize = 4;

pub(super) fn title(paint: Paint) -> String {
    let head = paint.ink(Ink::Bold, "mcp-interceptors demo");
    let name = |name| paint.ink(Ink::Bold, name);
    format!(
        "\n{head}: five calls through three interceptors\n\n  \
         client ──▶ {} ──▶ {} ──▶ {} ──▶ server\n             {}\n",
        name("secret-redactor"),
        name("tool-policy"),
        name("call-log"),
        paint.ink(Ink::Dim, "a mutator           a validator     a sink"),
    )
}

pub(super) fn served(url: &str, paint: Paint) -> String {
    format!(
        "{}\n  Point an MCP client at {}\n  It finds the tools echo, open_issue, read_file and \
         delete_file. What the\n  interceptors decide is shown here. Ctrl-C ends it.\n\n",
        title(paint),
        paint.ink(Ink::Bold, url)
    )
}

pub(super) fn call(
    number: usize,
    count: usize,
    call: &Call,
    seen: &Seen,
    checked: &Result<&'static str, String>,
    paint: Paint,
) -> String {
    let head = format!("{number} of {count}: {}", call.title);
    let rule = "─".repeat(WIDTH.saturating_sub(head.chars().count() + 4));
    let mut out = format!(
        "\n{} {} {}\n",
        "──",
        paint.ink(Ink::Bold, &head),
        paint.ink(Ink::Dim, &rule)
    );
    said(&mut out, "client sent", &shown(&call.request), paint);
    decisions(&mut out, "request", seen, Phase::Request, paint);
    match seen.handled() {
        None => row(&mut out, "server got", &paint.ink(Ink::Bad, "nothing"), paint),
        Some(handled) => {
            if handled.request == call.request {
                row(&mut out, "server got", "the same", paint);
            } else {
                said(&mut out, "server got", &shown(&handled.request), paint);
            }
            said(&mut out, "server sent", &shown(&handled.answer), paint);
        }
    }
    decisions(&mut out, "response", seen, Phase::Response, paint);
    match seen.handled() {
        Some(handled) if handled.answer == seen.answer => row(&mut out, "client got", "the same", paint),
        _ => said(&mut out, "client got", &shown(&seen.answer), paint),
    }
    let verdict = match checked {
        Ok(good) => paint.ink(Ink::Good, &format!("✓ {good}")),
        Err(bad) => paint.ink(Ink::Bad, &format!("✗ not as it must be: {}", escaped(bad))),
    };
    row(&mut out, "", &verdict, paint);
    out
}

pub(super) fn end(wrong: usize, paint: Paint) -> String {
    if wrong > 0 {
        return paint.ink(Ink::Bad, "\nThis is not how it should be.\n");
    }
    format!(
        "\n{} To put the same in front of a server of yours:\n\n  \
         mcp-interceptors proxy --stdio --redact-secrets -- COMMAND\n\n",
        paint.ink(Ink::Good, "All five calls went as they must.")
    )
}

/// The method and what the message is about, without the envelope.
fn shown(message: &Message) -> String {
    match message.method() {
        Some(method) => format!("{method} {}", message.payload().as_json()),
        None => message.payload().as_json().to_owned(),
    }
}

/// A row with a label and a text that may take several lines.
fn said(out: &mut String, label: &str, text: &str, paint: Paint) {
    let mut marks: Vec<_> = [secrets::token(), secrets::key()]
        .map(|secret| (secret, Ink::Bad))
        .into();
    marks.extend(
        ["github_pat", "aws_access_key"].map(|format| (format!("<redacted:{format}>"), Ink::Changed)),
    );
    let lines = paint.wrapped(text, WIDTH - INDENT, MAX_LINES, &marks);
    for (line, label) in lines
        .iter()
        .zip(std::iter::once(label).chain(std::iter::repeat("")))
    {
        row(out, label, line, paint);
    }
}

fn row(out: &mut String, label: &str, text: &str, paint: Paint) {
    let label = paint.ink(Ink::Dim, &format!("  {label:<width$}", width = INDENT - 2));
    out.push_str(format!("{label}{text}").trim_end());
    out.push('\n');
}

/// A line for each interceptor that ran in a phase.
fn decisions(out: &mut String, label: &str, seen: &Seen, phase: Phase, paint: Paint) {
    let reports = seen.reports.iter().filter(|report| report.phase == phase);
    let records = reports.flat_map(in_order).enumerate();
    for (number, record) in records {
        let (ink, what) = decision(record);
        let time = time(record.duration);
        let name = format!("{:<17}", record.interceptor);
        // Name, decision and time make one line of the whole width; the rest of a long reason goes below.
        let space = WIDTH - INDENT - 17 - 9;
        let lines = Paint::new(false).wrapped(&what, space, MAX_LINES, &[]);
        let mut lines = lines.iter().map(|line| line.trim_end());
        let first = format!("{:<space$}", lines.next().unwrap_or_default());
        let first = format!(
            "{name}{}{}",
            paint.ink(ink, &first),
            paint.ink(Ink::Dim, &format!("{time:>9}"))
        );
        row(out, if number == 0 { label } else { "" }, &first, paint);
        for more in lines {
            row(out, "", &format!("{:<17}{}", "", paint.ink(ink, more)), paint);
        }
    }
}

/// The records in the order of the run. A report has sinks last, since they end last; on the way back they are
/// handed their event before the mutators run.
pub(super) fn in_order(report: &Report) -> Vec<&Record> {
    let mut records: Vec<_> = report.records.iter().collect();
    if report.phase == Phase::Response {
        records.sort_by_key(|record| match record.kind {
            InterceptorType::Validation => 0,
            InterceptorType::Sink => 1,
            _ => 2,
        });
    }
    records
}

/// What an interceptor decided, in a few words.
pub(super) fn decision(record: &Record) -> (Ink, String) {
    match &record.outcome {
        Err(failure) => (Ink::Bad, escaped(&failure.to_string())),
        Ok(Outcome::Validation(verdict)) if verdict.blocks() => {
            let reasons: Vec<_> = verdict.messages.iter().map(|message| &*message.message).collect();
            (Ink::Bad, escaped(&format!("BLOCKED: {}", reasons.join("; "))))
        }
        Ok(Outcome::Validation(_)) => (Ink::Plain, "passed".into()),
        Ok(Outcome::Mutation(result)) if result.modified => {
            let info = result.info.as_deref().map(|info| info.get());
            (Ink::Changed, redacted(info).unwrap_or_else(|| "changed".into()))
        }
        Ok(Outcome::Mutation(_)) => (Ink::Plain, "left as it is".into()),
        Ok(Outcome::Sink(result)) => {
            let bytes = result
                .metrics
                .get("bytes")
                .map(|bytes| format!(", {} bytes", bytes.get()));
            (Ink::Plain, format!("recorded{}", bytes.unwrap_or_default()))
        }
        Ok(_) => (Ink::Plain, "done".into()),
    }
}

/// What the redactor says of its work.
fn redacted(info: Option<&str>) -> Option<String> {
    let info: Value = serde_json::from_str(info?).ok()?;
    let formats: Vec<_> = info["formats"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    Some(format!("REDACTED {} ({})", info["redacted"], formats.join(", ")))
}

/// A duration in at most eight characters.
pub(super) fn time(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..1_000 => format!("{micros} µs"),
        micros @ 1_000..10_000 => format!("{}.{} ms", micros / 1_000, micros / 100 % 10),
        micros @ 10_000..10_000_000 => format!("{} ms", micros / 1_000),
        micros => format!("{} s", micros / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (micros, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (9_999, "9.9 ms"),
            (10_000, "10 ms"),
            (12_000_000, "12 s"),
        ] {
            assert_eq!(time(Duration::from_micros(micros)), text);
        }
    }
}
