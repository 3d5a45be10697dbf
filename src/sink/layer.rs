use super::Sink;
use crate::phase::{Part, phase_layer};

phase_layer! {
    /// Applies the sinks of a chain; see the [module](crate::sink).
    SinkLayer => Sink, Part::Sink
}
