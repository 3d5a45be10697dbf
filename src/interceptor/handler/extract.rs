//! The typed arguments of a handler function.

use std::{ops::Deref, sync::Arc};

use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::{
    BoxError,
    interceptor::{Invocation, InvocationContext, Phase},
    message::{Cancellation, Payload},
};

/// Something that a handler function can take as an argument.
///
/// `S` is the state that was given to the builder. Implement it for types of your own:
///
/// ```
/// use mcp_interceptors::{BoxError, interceptor::{FromInvocation, Invocation}};
///
/// struct ToolName(String);
///
/// impl<S> FromInvocation<S> for ToolName {
///     fn from_invocation(invocation: &Invocation, _state: &S) -> Result<Self, BoxError> {
///         let name = invocation.payload.get("/name")?.and_then(|name| name.string());
///         Ok(Self(name.ok_or("the call names no tool")?.into_owned()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of an interceptor's function",
    note = "arguments are `Payload`, `Json<T>`, `Config<T>`, `Event`, `Phase`, `Context`, `State<S>`, `Deadline`, \
            `Cancellation`, `Invocation` and `Option`s of them",
    note = "`State<S>` needs the builder to have been given a state of that very type"
)]
pub trait FromInvocation<S>: Sized {
    /// Takes it from the invocation.
    ///
    /// # Errors
    ///
    /// When it is not there or not of that form. That is a failure of the interceptor, never a skip.
    fn from_invocation(invocation: &Invocation, state: &S) -> Result<Self, BoxError>;
}

impl<S> FromInvocation<S> for Invocation {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(invocation.clone())
    }
}

/// The payload as it is.
impl<S> FromInvocation<S> for Payload {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(invocation.payload.clone())
    }
}

impl<S> FromInvocation<S> for Phase {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(invocation.phase)
    }
}

impl<S> FromInvocation<S> for Cancellation {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(invocation.cancellation().clone())
    }
}

/// What cannot be taken is `None`.
impl<S, T: FromInvocation<S>> FromInvocation<S> for Option<T> {
    fn from_invocation(invocation: &Invocation, state: &S) -> Result<Self, BoxError> {
        Ok(T::from_invocation(invocation, state).ok())
    }
}

/// The payload, read into a type.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

impl<S, T: DeserializeOwned> FromInvocation<S> for Json<T> {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(Self(invocation.payload.parse()?))
    }
}

/// The interceptor's configuration, read into a type. Where there is none it is read from `null`, so that an
/// `Option` or a type with a default for it works.
#[derive(Clone, Debug)]
pub struct Config<T>(pub T);

impl<S, T: DeserializeOwned> FromInvocation<S> for Config<T> {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        let json = invocation.config.as_ref().map_or("null", |config| config.get());
        Ok(Self(serde_json::from_str(json)?))
    }
}

/// The event.
#[derive(Clone, Debug)]
pub struct Event(pub Arc<str>);

impl<S> FromInvocation<S> for Event {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(Self(Arc::clone(&invocation.event)))
    }
}

impl Deref for Event {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The context: principal, session, trace, time.
#[derive(Clone, Debug)]
pub struct Context(pub Arc<InvocationContext>);

impl<S> FromInvocation<S> for Context {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(Self(Arc::clone(&invocation.context)))
    }
}

impl Deref for Context {
    type Target = InvocationContext;

    fn deref(&self) -> &InvocationContext {
        &self.0
    }
}

/// The state that was given to the builder.
#[derive(Clone, Debug)]
pub struct State<S>(pub S);

impl<S: Clone> FromInvocation<S> for State<S> {
    fn from_invocation(_: &Invocation, state: &S) -> Result<Self, BoxError> {
        Ok(Self(state.clone()))
    }
}

/// When the answer is of no use any more; `None` where nothing limits it.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(pub Option<Instant>);

impl<S> FromInvocation<S> for Deadline {
    fn from_invocation(invocation: &Invocation, _: &S) -> Result<Self, BoxError> {
        Ok(Self(invocation.deadline))
    }
}
