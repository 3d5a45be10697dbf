use tower_layer::Layer;

use super::RequestsOnly;

/// Applies a layer to calls, and lets every other message past it: notifications, the client's answers, `Listen`,
/// `End`, and `subscriptions/listen`.
///
/// It is the cure for stock layers that make a message wait or refuse it, such as `concurrency_limit`, `load_shed`
/// and `rate_limit`. Such a layer lets go at the head of a streamed reply; where that is too early, take
/// [`InFlightLayer`](super::super::InFlightLayer).
///
/// ```
/// use mcp_interceptors::{limit::requests_only, message::Message, reply::Reply};
/// use tower::{ServiceBuilder, limit::GlobalConcurrencyLimitLayer, load_shed::LoadShedLayer};
///
/// let shed = ServiceBuilder::new().layer(LoadShedLayer::new()).layer(GlobalConcurrencyLimitLayer::new(8));
/// let service = ServiceBuilder::new()
///     .layer(requests_only(shed.into_inner()))
///     .service_fn(|_: Message| async { Ok::<_, std::convert::Infallible>(Reply::accepted()) });
/// # let _ = mcp_interceptors::check(service);
/// ```
///
/// Calls wait for the layer's readiness inside their future and with a handle of their own, so the service is always
/// ready itself. Hence what a layer keeps must be shared by the clones of its service, as it is in tower's limits. A
/// layer whose service is not `Clone`, `rate_limit`, goes behind a `buffer`.
pub fn requests_only<L>(layer: L) -> RequestsOnlyLayer<L> {
    RequestsOnlyLayer { layer }
}

/// Applies [`RequestsOnly`]; made by [`requests_only`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RequestsOnlyLayer<L> {
    layer: L,
}

impl<S, L> Layer<S> for RequestsOnlyLayer<L>
where
    S: Clone,
    L: Layer<S>,
    L::Service: Clone,
{
    type Service = RequestsOnly<L::Service, S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestsOnly::new(self.layer.layer(inner.clone()), inner)
    }
}
