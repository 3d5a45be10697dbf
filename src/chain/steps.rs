//! The order of the steps.

/// Which side of the boundary a stack stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "a boundary has two sides")]
pub enum Side {
    /// A client, or a gateway in front of a server: requests are sent, answers received.
    Client,
    /// A server: requests are received, answers sent.
    Server,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Towards the backend.
    Inward,
    /// Towards the client.
    Outward,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Mutate,
    Validate,
    Sink,
}

/// The steps of a run in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps(&'static [Step]);

impl Steps {
    /// All three. What is sent is mutated, then validated; what is received is validated, then mutated
    /// (SEP-2624, trust boundaries). Sinks see what validation has passed. The order follows the flow, not the
    /// phase, so that a server's requests, which flow the other way, need no rule of their own.
    pub(crate) fn all(side: Side, flow: Flow) -> Self {
        Self(match (side, flow) {
            (Side::Client, Flow::Inward) => &[Step::Mutate, Step::Validate, Step::Sink],
            (Side::Client, Flow::Outward) => &[Step::Validate, Step::Sink, Step::Mutate],
            (Side::Server, Flow::Inward) => &[Step::Validate, Step::Sink, Step::Mutate],
            (Side::Server, Flow::Outward) => &[Step::Mutate, Step::Validate, Step::Sink],
        })
    }

    pub(crate) const MUTATE: Self = Self(&[Step::Mutate]);
    pub(crate) const VALIDATE: Self = Self(&[Step::Validate]);
    pub(crate) const SINK: Self = Self(&[Step::Sink]);

    pub(crate) fn iter(self) -> impl Iterator<Item = Step> {
        self.0.iter().copied()
    }
}
