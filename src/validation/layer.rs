use super::Validation;
use crate::phase::{Part, phase_layer};

phase_layer! {
    /// Applies the validators of a chain; see the [module](crate::validation).
    ValidationLayer => Validation, Part::Validate
}
