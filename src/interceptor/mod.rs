//! The types of SEP-2624: what an interceptor says about itself, what it is asked, what it answers.
//!
//! An interceptor *describes* itself ([`Descriptor`]: name, type, [`Hook`]s, mode, priority), is *invoked*
//! with a payload ([`InvokeParams`]) and answers with an [`Outcome`]: a verdict, a changed payload, or the
//! word that it has taken note. On the wire the answer is a [`WireResult`], and a whole run of interceptors
//! is a [`ChainResult`].
//!
//! Writing is strict and reading is tolerant. What is written is the newest form of the SEP, with members in
//! a fixed order, `type` first in results, integers for times, and defaults left out. What is read may be any
//! of the forms that the SEP's older drafts and today's implementations in C#, Go, Python and TypeScript put
//! on the wire. Where tolerance would turn a refusal into a pass, there is none: a result whose `valid` is not
//! a boolean is an error, and an error is a failure of that interceptor.
//!
//! Values nobody here has to understand (payloads, configurations, schemas, `info`) are kept as the raw JSON
//! text they came in, so that a number, an escape or the order of keys never changes on the way.
//!
//! ```
//! use mcp_interceptors::interceptor::{Descriptor, Hook, InterceptorType, Phase, PriorityHint};
//!
//! let redactor = Descriptor::new("redactor", InterceptorType::Mutation)?
//!     .with_hook(Hook::parse(Phase::Request, ["tools/call", "prompts/*"])?)
//!     .with_priority(PriorityHint::number(-1_000));
//!
//! assert!(redactor.is_hooked("prompts/get", Phase::Request));
//! assert_eq!(
//!     serde_json::to_string(&redactor)?,
//!     r#"{"name":"redactor","type":"mutation","hooks":[{"events":["tools/call","prompts/*"],"phase":"request"}],"priorityHint":-1000}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod capability;
mod chain_params;
mod chain_result;
mod compat;
mod context;
mod descriptor;
mod event;
mod handler;
mod hook;
mod hook_forms;
mod invocation;
mod invoke;
mod kind;
mod list;
mod llm;
mod members;
mod millis;
mod mode;
mod mutation;
mod outcome;
mod phase;
mod priority;
pub(crate) mod reason;
mod sink;
mod timestamp;
mod validation;
mod wire;
mod wire_read;

pub use builder::{Interceptor, InterceptorBuilder, InterceptorService, OnEvent, Overflow};
pub use capability::{CAPABILITY_KEY, CAPABILITY_POINTER, InterceptorsCapability, supported_events};
pub use chain_params::ChainParams;
pub use chain_result::{AbortKind, AbortedAt, ChainResult, ChainStatus, ValidationSummary};
pub use compat::Compat;
pub use context::{InvocationContext, Principal, PrincipalType};
pub use descriptor::{Descriptor, EmptyName};
pub use event::{EventPattern, InvalidEventPattern, needs_exact_hook};
pub use handler::{
    Config, Context, Deadline, Event, FromInvocation, Handler, IntoAnswer, Json, Mutator, Sink, State,
    Validator,
};
pub use hook::{Hook, WideningHook};
pub use invocation::Invocation;
pub use invoke::InvokeParams;
pub use kind::InterceptorType;
pub use list::{ListInterceptorsParams, ListInterceptorsResult, RejectedDescriptor};
pub use llm::{LlmMessage, LlmRequest, LlmResponse, LlmUsage};
pub use members::Members;
pub use mode::Mode;
pub use mutation::MutationResult;
pub use outcome::Outcome;
pub use phase::Phase;
pub use priority::PriorityHint;
pub use sink::SinkResult;
pub use timestamp::rfc3339_utc;
pub use validation::{Severity, Suggestion, ValidationMessage, ValidationResult};
pub use wire::{UnknownOutcome, WireOutcome, WireResult};
pub use wire_read::InvalidAnswer;
