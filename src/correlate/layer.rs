use tower_layer::Layer;

use super::{Correlate, table::Table};

/// Applies [`Correlate`]; see the [module](crate::correlate).
///
/// All services of one layer share one table.
#[derive(Clone, Debug, Default)]
pub struct CorrelateLayer {
    table: Table,
}

impl CorrelateLayer {
    /// A layer with an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S: Clone> Layer<S> for CorrelateLayer {
    type Service = Correlate<S>;

    fn layer(&self, inner: S) -> Correlate<S> {
        Correlate::new(inner, self.table.clone())
    }
}
