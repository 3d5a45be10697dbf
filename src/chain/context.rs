//! The context of an invocation: who sent the message, in which session and trace, and when.

use std::time::SystemTime;

use super::Chain;
use crate::{
    interceptor::{InvocationContext, Principal, rfc3339_utc},
    message::{Exchange, JsonKind, Payload, PrincipalKind},
};

impl Chain {
    /// Starts from the default context and puts in what is known of the message.
    pub(crate) fn context(&self, exchange: &Exchange, payload: &Payload) -> InvocationContext {
        let mut context = self.0.settings.default_context.clone();
        context.timestamp = Some(rfc3339_utc(SystemTime::now()));
        if let Some(principal) = exchange.principal() {
            context.principal = Some(match principal.kind {
                PrincipalKind::User => Principal::user(&*principal.id),
                PrincipalKind::Service => Principal::service(&*principal.id),
                PrincipalKind::Anonymous => Principal::anonymous(),
            });
        }
        if let Some(session) = exchange.session() {
            context.session_id = Some(session.into());
        }
        if let Some((trace, span)) = trace_parent(exchange, payload) {
            context.trace_id = Some(trace);
            context.span_id = Some(span);
        }
        context
    }
}

/// W3C trace context: `_meta.traceparent` (2026-07-28), else the HTTP header.
fn trace_parent(exchange: &Exchange, payload: &Payload) -> Option<(String, String)> {
    let in_meta = || {
        let value = payload.get("/_meta/traceparent").ok()??;
        (value.kind() == JsonKind::String)
            .then(|| value.string())?
            .map(|text| text.into_owned())
    };
    let in_header = || {
        Some(
            exchange
                .http()?
                .headers
                .get("traceparent")?
                .to_str()
                .ok()?
                .to_owned(),
        )
    };
    let text = in_meta().or_else(in_header)?;
    let mut parts = text.split('-');
    let (_, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let hex = |part: &str, len| part.len() == len && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hex(trace, 32) && hex(span, 16)).then(|| (trace.to_owned(), span.to_owned()))
}
