use crate::phase::phase_service;

phase_service! {
    /// Runs the sinks of a chain; see the [module](crate::sink).
    Sink
}
