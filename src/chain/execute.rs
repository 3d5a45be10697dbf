//! Running a chain without a stack.

use std::sync::Arc;

use futures::{StreamExt, stream::FuturesOrdered};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    Chain, Flow, Side, Steps,
    report::tell,
    run::{Selection, Subject, run},
};
use crate::{
    interceptor::{ChainParams, ChainResult, ChainStatus, Phase},
    message::{Exchange, Payload, event_hash},
};

impl Chain {
    /// Runs the chain on a payload and waits for all of it, sinks and audits included (each within its own
    /// time), so that the result lists them. The order is that of a client: requests are sent, answers
    /// received.
    ///
    /// Dropping the future cancels the run; that is no `timeout`.
    pub async fn execute(&self, params: ChainParams) -> ChainResult {
        self.execute_on(Side::Client, params).await
    }

    /// The same, on the given side of the boundary.
    pub async fn execute_on(&self, side: Side, params: ChainParams) -> ChainResult {
        let hash = event_hash(params.event.as_bytes());
        let Some(plan) = self.plans().get(hash, params.event.as_bytes(), params.phase) else {
            let mut result = ChainResult::new(ChainStatus::Success, params.event, params.phase);
            result.final_payload = Some(params.payload);
            return result;
        };
        let payload = Payload::from_raw(params.payload);
        let exchange = Arc::new(Exchange::new());
        let context = params
            .context
            .unwrap_or_else(|| self.context(&exchange, &payload));
        let flow = match params.phase {
            Phase::Request => Flow::Inward,
            Phase::Response => Flow::Outward,
        };
        let subject = Subject {
            event: params.event.into(),
            phase: params.phase,
            payload,
            is_error: false,
            request: None,
            context: Arc::new(context),
            exchange,
            selection: Some(Selection {
                names: params.interceptors.unwrap_or_default(),
                config: params.config,
            }),
        };
        let started = Instant::now();
        let deadline = started + params.timeout.unwrap_or(self.phase_timeout());
        let ran = run(self, plan, Steps::all(side, flow), subject, deadline).await;
        let mut off_path: FuturesOrdered<_> = ran.off_path.into_iter().map(|job| job.run(self)).collect();
        let mut report = ran.report;
        while let Some(record) = off_path.next().await {
            report.records.push(record);
        }
        report.duration = started.elapsed();
        let mut result = report.to_chain_result();
        if result.status == ChainStatus::Success {
            result.final_payload = RawValue::from_string(ran.payload.as_json().to_owned()).ok();
        }
        tell(&self.0.observers, &report);
        result
    }
}
