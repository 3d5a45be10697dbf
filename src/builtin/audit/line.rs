//! A report as a line.

use std::{borrow::Cow, time::Duration, time::SystemTime};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    builtin::clip,
    chain::{Record, Report},
    interceptor::{Mode, Outcome, rfc3339_utc},
    message::PrincipalKind,
};

/// Names come from peers, and so does their length.
pub(super) const MAX_NAME: usize = 256;
const MAX_TEXT: usize = 1024;
const MAX_INFO: usize = 4096;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    time: String,
    decision_id: String,
    event: Cow<'a, str>,
    phase: &'static str,
    status: &'static str,
    modified: bool,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<Block<'a>>,
    interceptors: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Who<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    interceptor: &'a str,
    kind: &'static str,
    reason: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    r#type: &'a str,
    mode: &'static str,
    outcome: &'static str,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Who<'a> {
    r#type: &'static str,
    id: Cow<'a, str>,
}

/// The line of a report, with its end.
pub(super) fn of(report: &Report) -> String {
    let line = Line {
        time: rfc3339_utc(SystemTime::now()),
        decision_id: report.decision.to_string(),
        event: clip(&report.event, MAX_NAME),
        phase: report.phase.as_str(),
        status: report.status.as_str(),
        modified: report.modified,
        duration_ms: millis(report.duration),
        blocked: report.blocked.as_ref().map(|blocked| Block {
            interceptor: &blocked.interceptor,
            kind: blocked.kind.as_str(),
            reason: clip(&blocked.reason, MAX_TEXT),
        }),
        interceptors: report.records.iter().map(entry).collect(),
        session: report.exchange.session().map(session),
        principal: report.exchange.principal().map(|principal| Who {
            r#type: match principal.kind {
                PrincipalKind::User => "user",
                PrincipalKind::Service => "service",
                PrincipalKind::Anonymous => "anonymous",
            },
            id: clip(&principal.id, MAX_NAME),
        }),
    };
    // Strings, numbers and raw JSON always serialise.
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text
}

/// Enough of a session's id to find its lines, and too little to take the session over.
fn session(id: &str) -> Cow<'_, str> {
    let shown: String = id.chars().take(8.min(id.chars().count() / 2)).collect();
    format!("{shown}…").into()
}

fn entry(record: &Record) -> Entry<'_> {
    let info = match &record.outcome {
        Ok(Outcome::Validation(verdict)) => verdict.info.as_deref(),
        Ok(Outcome::Mutation(result)) => result.info.as_deref(),
        Ok(Outcome::Sink(result)) => result.info.as_deref(),
        Err(_) => None,
    };
    // Another's words may hold anything; and a line must stay one.
    let fits = |info: &&RawValue| {
        record.server.is_none() && info.get().len() <= MAX_INFO && !info.get().contains(['\n', '\r'])
    };
    Entry {
        name: &record.interceptor,
        server: record.server.as_deref(),
        r#type: record.kind.as_str(),
        mode: record.mode.as_str(),
        outcome: outcome(record),
        duration_ms: millis(record.duration),
        failure: record
            .outcome
            .as_ref()
            .err()
            .map(|failure| clip(&failure.to_string(), MAX_TEXT).into_owned()),
        info: info.filter(fits),
    }
}

fn outcome(record: &Record) -> &'static str {
    match &record.outcome {
        Ok(Outcome::Validation(verdict)) if !verdict.blocks() => "passed",
        Ok(Outcome::Validation(_)) if record.mode == Mode::Audit => "wouldBlock",
        Ok(Outcome::Validation(_)) => "blocked",
        Ok(Outcome::Mutation(result)) if result.modified => "modified",
        Ok(Outcome::Mutation(_)) => "unmodified",
        Ok(Outcome::Sink(result)) if result.recorded => "recorded",
        Ok(Outcome::Sink(_)) => "skipped",
        Err(_) => "failed",
    }
}

/// Milliseconds with three digits of a fraction: many decisions take less than one.
fn millis(duration: Duration) -> f64 {
    u32::try_from(duration.as_micros()).map_or(f64::from(u32::MAX), f64::from) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::session;

    #[test]
    fn a_session_is_recognised_and_not_given_away() {
        for (id, shown) in [
            ("", "…"),
            ("a", "…"),
            ("abc", "a…"),
            ("ä€ß…", "ä€…"),
            ("0123456789abcdef0123456789abcdef", "01234567…"),
        ] {
            assert_eq!(session(id), shown);
        }
    }
}
