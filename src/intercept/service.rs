use crate::phase::phase_service;

phase_service! {
    /// Runs a whole chain; see the [module](crate::intercept).
    Intercept
}
