//! The behaviours that a fixture may ask for.

use mcp_interceptors::{
    BoxError,
    interceptor::{
        Descriptor, Interceptor, InterceptorType, Invocation, MutationResult, Outcome, ValidationResult,
    },
    message::Payload,
};

use super::security::{Guard, redact};

/// An interceptor that describes itself as the fixture says and behaves as its behaviour says.
pub(crate) fn interceptor(descriptor: Descriptor, behavior: &str) -> Result<Interceptor, String> {
    let answer: fn(&Payload) -> Result<Outcome, BoxError> = match behavior {
        "allow-all" => |_| Ok(ValidationResult::pass().into()),
        "deny-all" => |_| Ok(ValidationResult::fail("denied by policy").into()),
        "require-note" => |payload| {
            let verdict = note(payload)?.filter(|note| !note.is_empty());
            Ok(need(verdict.is_some(), "note is required"))
        },
        "require-uppercase-note" => |payload| {
            let upper = note(payload)?.is_some_and(|note| note == note.to_uppercase());
            Ok(need(upper, "note must be uppercase"))
        },
        "uppercase-note" => |payload| Ok(uppercase(payload)?.into()),
        "crash" => |_| Err("crash".into()),
        "cross-boundary-guard" => {
            let guard = Guard::default();
            let service = tower::service_fn(move |invocation: Invocation| {
                std::future::ready(guard.judge(&invocation).map(Outcome::from))
            });
            return Ok(Interceptor::new(descriptor, service));
        }
        "secretless-redactor" => |payload| Ok(redact(payload)?.into()),
        other => return Err(format!("unknown behavior {other:?}")),
    };
    let as_mutator = descriptor.kind == InterceptorType::Mutation;
    let service = tower::service_fn(move |invocation: Invocation| {
        // A mutator that has nothing against the payload says so in its own type.
        let outcome = answer(&invocation.payload).map(|outcome| match outcome {
            Outcome::Validation(verdict) if as_mutator && verdict.valid => {
                MutationResult::unmodified().into()
            }
            outcome => outcome,
        });
        std::future::ready(outcome)
    });
    Ok(Interceptor::new(descriptor, service))
}

fn need(fulfilled: bool, reason: &str) -> Outcome {
    if fulfilled {
        ValidationResult::pass().into()
    } else {
        ValidationResult::fail(reason).into()
    }
}

/// The text at `arguments.note`.
fn note(payload: &Payload) -> Result<Option<String>, BoxError> {
    let note = payload.get("/arguments/note")?;
    Ok(note
        .and_then(|note| note.string())
        .map(std::borrow::Cow::into_owned))
}

fn uppercase(payload: &Payload) -> Result<MutationResult, BoxError> {
    let Some(note) = note(payload)? else {
        return Ok(MutationResult::unmodified());
    };
    let upper = note.to_uppercase();
    if upper == note {
        return Ok(MutationResult::unmodified());
    }
    let mut payload = payload.clone();
    payload.set("/arguments/note", &upper)?;
    Ok(MutationResult::edited(payload))
}
