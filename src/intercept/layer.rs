use tower_layer::Layer;

use super::Intercept;
use crate::{
    chain::{ChainSource, Side},
    phase::{Part, Policy},
};

/// Applies a whole chain; see the [module](crate::intercept).
#[derive(Clone, Debug)]
pub struct InterceptorLayer(Policy);

impl InterceptorLayer {
    /// For a client, or a gateway in front of a server.
    pub fn client_side(chain: impl Into<ChainSource>) -> Self {
        Self::on(Side::Client, chain)
    }

    /// For a server.
    pub fn server_side(chain: impl Into<ChainSource>) -> Self {
        Self::on(Side::Server, chain)
    }

    /// For the given side.
    pub fn on(side: Side, chain: impl Into<ChainSource>) -> Self {
        Self(Policy::new(chain, Part::All(side)))
    }
}

// The bound says where the mistake is: at the service that is not `Clone`, not layers further out.
impl<S: Clone> Layer<S> for InterceptorLayer {
    type Service = Intercept<S>;

    fn layer(&self, inner: S) -> Intercept<S> {
        Intercept::with_policy(inner, self.0.clone())
    }
}
