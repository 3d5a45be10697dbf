//! Decisions as they are made, for `demo --listen`.

use std::fmt::Write as _;

use mcp_interceptors::{
    chain::{Observer, Report},
    interceptor::Phase,
};

use super::{
    paint::{Ink, Paint, escaped},
    print::{decision, in_order, time},
    show,
};

/// Prints a line for each report.
#[derive(Debug)]
pub(super) struct Live(Paint);

impl Live {
    pub(super) fn new(paint: Paint) -> Self {
        Self(paint)
    }
}

impl Observer for Live {
    fn report(&self, report: &Report) {
        let paint = self.0;
        let arrow = match report.phase {
            Phase::Request => "──▶",
            Phase::Response => "◀──",
        };
        let event: String = escaped(&report.event).chars().take(40).collect();
        let mut out = format!(
            "  {} {}\n",
            paint.ink(Ink::Dim, arrow),
            paint.ink(Ink::Bold, &event)
        );
        for record in in_order(report) {
            let (ink, what) = decision(record);
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "      {:<17}{} {}",
                record.interceptor,
                paint.ink(ink, &what),
                paint.ink(Ink::Dim, &format!("({})", time(record.duration)))
            );
        }
        // A terminal that is gone is no reason to stop serving.
        let _ = show(&out);
    }
}
