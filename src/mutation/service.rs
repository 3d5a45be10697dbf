use crate::phase::phase_service;

phase_service! {
    /// Runs the mutators of a chain; see the [module](crate::mutation).
    Mutation
}
