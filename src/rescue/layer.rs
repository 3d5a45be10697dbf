use tower_layer::Layer;

use super::Rescue;

/// Applies [`Rescue`]; see the [module](crate::rescue).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RescueLayer;

impl RescueLayer {
    /// The layer; it has no settings.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl<S: Clone> Layer<S> for RescueLayer {
    type Service = Rescue<S>;

    fn layer(&self, inner: S) -> Rescue<S> {
        Rescue::new(inner)
    }
}
