//! What an interceptor answers.

use super::{InterceptorType, MutationResult, SinkResult, ValidationResult};

/// What an interceptor answers: one of the results of SEP-2624's `interceptor/invoke`.
///
/// ```
/// use mcp_interceptors::interceptor::{InterceptorType, Outcome, ValidationResult};
///
/// let outcome = Outcome::from(ValidationResult::pass());
/// assert_eq!(outcome.kind(), InterceptorType::Validation);
/// assert!(!outcome.blocks());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// A verdict.
    Validation(ValidationResult),
    /// A changed payload, or word that it stays.
    Mutation(MutationResult),
    /// Word that note was taken.
    Sink(SinkResult),
}

impl Outcome {
    /// The type of interceptor that answers so.
    #[must_use]
    pub fn kind(&self) -> InterceptorType {
        match self {
            Self::Validation(_) => InterceptorType::Validation,
            Self::Mutation(_) => InterceptorType::Mutation,
            Self::Sink(_) => InterceptorType::Sink,
        }
    }

    /// Whether this is a verdict that stops the message.
    #[must_use]
    pub fn blocks(&self) -> bool {
        matches!(self, Self::Validation(verdict) if verdict.blocks())
    }
}

impl From<ValidationResult> for Outcome {
    fn from(result: ValidationResult) -> Self {
        Self::Validation(result)
    }
}

impl From<MutationResult> for Outcome {
    fn from(result: MutationResult) -> Self {
        Self::Mutation(result)
    }
}

impl From<SinkResult> for Outcome {
    fn from(result: SinkResult) -> Self {
        Self::Sink(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn py_068_the_kind_of_an_outcome_is_that_of_its_interceptor() {
        for (outcome, kind) in [
            (
                Outcome::from(ValidationResult::pass()),
                InterceptorType::Validation,
            ),
            (
                Outcome::from(MutationResult::unmodified()),
                InterceptorType::Mutation,
            ),
            (Outcome::from(SinkResult::recorded()), InterceptorType::Sink),
        ] {
            assert_eq!(outcome.kind(), kind);
            assert!(!outcome.blocks());
        }
        assert!(Outcome::from(ValidationResult::fail("no")).blocks());
    }
}
