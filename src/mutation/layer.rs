use super::Mutation;
use crate::phase::{Part, phase_layer};

phase_layer! {
    /// Applies the mutators of a chain; see the [module](crate::mutation).
    MutationLayer => Mutation, Part::Mutate
}
