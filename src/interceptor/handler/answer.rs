//! What a handler function may return.

use crate::{
    BoxError,
    interceptor::{MutationResult, Outcome, SinkResult, ValidationResult},
    message::Payload,
};

/// Marks the functions that judge.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Validator;

/// Marks the functions that change.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Mutator;

/// Marks the functions that take note.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sink;

/// Something that a function of kind `K` can return.
///
/// A validator returns a `bool` or a [`ValidationResult`]; a mutator an `Option<Payload>` (`None`: it stays as
/// it is) or a [`MutationResult`]; a sink nothing, a `bool` or a [`SinkResult`]; each may return it in a
/// `Result`, of which an error is a failure of the interceptor.
#[diagnostic::on_unimplemented(
    message = "a function of kind `{K}` cannot return `{Self}`",
    note = "a validator returns `bool` or `ValidationResult`, a mutator `Option<Payload>` or `MutationResult`, a sink \
            `()`, `bool` or `SinkResult`; each also in a `Result`"
)]
pub trait IntoAnswer<K> {
    /// Turns it into an outcome.
    ///
    /// # Errors
    ///
    /// The function's own.
    fn into_answer(self) -> Result<Outcome, BoxError>;
}

impl<K, T: IntoAnswer<K>, E: Into<BoxError>> IntoAnswer<K> for Result<T, E> {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        self.map_err(Into::into)?.into_answer()
    }
}

impl IntoAnswer<Validator> for bool {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(ValidationResult::from(self).into())
    }
}

impl IntoAnswer<Validator> for ValidationResult {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(self.into())
    }
}

impl IntoAnswer<Mutator> for Option<Payload> {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(self
            .map_or_else(MutationResult::unmodified, MutationResult::edited)
            .into())
    }
}

impl IntoAnswer<Mutator> for MutationResult {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(self.into())
    }
}

/// A mutator may also refuse.
impl IntoAnswer<Mutator> for Outcome {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(self)
    }
}

impl IntoAnswer<Sink> for () {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(SinkResult::recorded().into())
    }
}

impl IntoAnswer<Sink> for bool {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(if self {
            SinkResult::recorded()
        } else {
            SinkResult::skipped()
        }
        .into())
    }
}

impl IntoAnswer<Sink> for SinkResult {
    fn into_answer(self) -> Result<Outcome, BoxError> {
        Ok(self.into())
    }
}
