//! What is said in place of a blocked message.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    chain::{BlockKind, Blocked, Chain, DecisionId, Detail, Surface},
    interceptor::{Severity, ValidationResult},
    message::{Asked, Era, ErrorObject, Exchange, Kind, Message},
};

/// The verdicts of a run: who, whether remote, what.
pub(super) type Verdicts = [(Arc<str>, bool, ValidationResult)];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    kind: &'a str,
    decision_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validation_errors: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    interceptor: &'a str,
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// The answer to a blocked request; the error in place of a blocked answer; for a notification, to which
/// nobody answers, an error without an id, which its layer drops.
///
/// A blocked `tools/call` is answered with a tool result, so that the model reads why; everything else with a
/// JSON-RPC error. A failure never shows its inner text.
pub(super) fn answer(
    chain: &Chain,
    message: &Message,
    asked: Option<&Asked>,
    blocked: &Blocked,
    decision: DecisionId,
    verdicts: &Verdicts,
) -> Message {
    let text = text(chain.detail(), blocked, decision, verdicts);
    let id = message.id();
    let (is_tool_call, era) = match asked {
        Some(asked) => (asked.method() == "tools/call", asked.era()),
        None => (message.is_request("tools/call"), message.era()),
    };
    let answer = match (&id, chain.surface()) {
        (Some(id), Surface::ToolResult) if is_tool_call => tool_result(id, &text, era, decision),
        _ => {
            let code = if blocked.kind == BlockKind::Verdict {
                -32602
            } else {
                -32603
            };
            let data = Data {
                kind: blocked.kind.as_str(),
                decision_id: decision.to_string(),
                validation_errors: findings(chain.detail(), verdicts),
            };
            let id = id.or_else(|| asked.and_then(|asked| asked.id().cloned()));
            Message::error(id.as_ref(), &ErrorObject::new(code, text).with_data(&data))
        }
    };
    with_origin(answer, message, asked)
}

/// The error in place of a reply that interceptors were to read and nobody can.
pub(super) fn unreadable(asked: &Asked, exchange: &Arc<Exchange>, decision: DecisionId) -> Message {
    let data = Data {
        kind: BlockKind::ValidationFailed.as_str(),
        decision_id: decision.to_string(),
        validation_errors: Vec::new(),
    };
    let text = format!("the reply cannot be inspected and was refused (decision {decision})");
    Message::error(asked.id(), &ErrorObject::new(-32603, text).with_data(&data))
        .with_exchange(Arc::clone(exchange))
        .made_by_stack()
        .with_in_reply_to(Arc::new(asked.clone()))
}

fn with_origin(answer: Message, message: &Message, asked: Option<&Asked>) -> Message {
    let answer = answer
        .with_exchange(Arc::clone(message.exchange()))
        .made_by_stack();
    match asked.cloned().or_else(|| Asked::of(message)) {
        Some(asked) if message.kind() != Kind::Notification => answer.with_in_reply_to(Arc::new(asked)),
        _ => answer,
    }
}

fn tool_result(id: &crate::message::Id, text: &str, era: Era, decision: DecisionId) -> Message {
    let mut result = serde_json::json!({
        "content": [{"type": "text", "text": text}],
        "isError": true,
        "_meta": {"mcp-interceptors/decisionId": decision.to_string()},
    });
    if era == Era::Modern {
        result["resultType"] = "complete".into();
    }
    // A `Value` always serialises.
    Message::response(id, &result)
        .unwrap_or_else(|_| Message::error(Some(id), &ErrorObject::new(-32603, text)))
}

fn text(detail: Detail, blocked: &Blocked, decision: DecisionId, verdicts: &Verdicts) -> String {
    let name = &blocked.interceptor;
    let what = match blocked.kind {
        BlockKind::Verdict => match detail {
            Detail::Generic => "blocked by policy".to_owned(),
            Detail::Name => format!("blocked by {name}"),
            Detail::Auto | Detail::Messages => {
                let shown: Vec<_> = verdicts
                    .iter()
                    .filter(|(_, remote, _)| detail == Detail::Messages || !remote)
                    .flat_map(|(_, _, verdict)| verdict.messages.iter().map(|finding| &*finding.message))
                    .collect();
                if shown.is_empty() {
                    format!("blocked by {name}")
                } else {
                    format!("blocked by {name}: {}", shown.join("; "))
                }
            }
        },
        _ if detail == Detail::Generic => "a policy check failed".to_owned(),
        BlockKind::MutationFailed => format!("the interceptor {name} failed"),
        BlockKind::ValidationFailed => format!("the check {name} failed"),
        BlockKind::NotRecorded => format!("{name} could not record the message"),
        BlockKind::Timeout => format!("the interceptor {name} did not answer in time"),
    };
    format!("{what} (decision {decision})")
}

fn findings(detail: Detail, verdicts: &Verdicts) -> Vec<Finding<'_>> {
    let mut findings = Vec::new();
    if detail == Detail::Generic {
        return findings;
    }
    for (interceptor, remote, verdict) in verdicts {
        let told = detail == Detail::Messages || (detail == Detail::Auto && !remote);
        if told && !verdict.messages.is_empty() {
            findings.extend(verdict.messages.iter().map(|finding| Finding {
                interceptor,
                severity: finding.severity,
                message: Some(&finding.message),
            }));
        } else {
            findings.push(Finding {
                interceptor,
                severity: verdict.effective_severity(),
                message: None,
            });
        }
    }
    findings
}
