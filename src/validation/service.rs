use crate::phase::phase_service;

phase_service! {
    /// Runs the validators of a chain; see the [module](crate::validation).
    Validation
}
