//! The layers as methods of tower's `ServiceBuilder`.

use std::time::Duration;

use tower::ServiceBuilder;
use tower_layer::Stack;

use crate::{
    BoxError,
    chain::ChainSource,
    correlate::CorrelateLayer,
    intercept::InterceptorLayer,
    limit::{DeadlineLayer, InFlightLayer, RequestsOnlyLayer, requests_only},
    message::Message,
    middleware::{FromFnLayer, Next, from_fn},
    mutation::MutationLayer,
    reply::Reply,
    rescue::RescueLayer,
    sink::SinkLayer,
    validation::ValidationLayer,
};

/// The layers of this crate as methods of [`ServiceBuilder`], outermost first.
///
/// ```
/// use mcp_interceptors::{ServiceBuilderExt, chain::Chain, message::Message, reply::Reply};
/// use tower::ServiceBuilder;
///
/// let chain = Chain::builder().build().unwrap();
/// let service = ServiceBuilder::new()
///     .rescue()
///     .correlate()
///     .intercept_client_side(&chain)
///     .service_fn(|_: Message| async { Ok::<_, std::convert::Infallible>(Reply::accepted()) });
/// # let _ = mcp_interceptors::check(service);
/// ```
pub trait ServiceBuilderExt<L>: sealed::Sealed + Sized {
    /// Turns errors into answers: [`RescueLayer`].
    fn rescue(self) -> ServiceBuilder<Stack<RescueLayer, L>>;

    /// Names the requests behind answers: [`CorrelateLayer`].
    fn correlate(self) -> ServiceBuilder<Stack<CorrelateLayer, L>>;

    /// Runs a whole chain on the side of a client: [`InterceptorLayer::client_side`].
    fn intercept_client_side(
        self,
        chain: impl Into<ChainSource>,
    ) -> ServiceBuilder<Stack<InterceptorLayer, L>>;

    /// Runs a whole chain on the side of a server: [`InterceptorLayer::server_side`].
    fn intercept_server_side(
        self,
        chain: impl Into<ChainSource>,
    ) -> ServiceBuilder<Stack<InterceptorLayer, L>>;

    /// Runs the mutators of a chain: [`MutationLayer`].
    fn mutate(self, chain: impl Into<ChainSource>) -> ServiceBuilder<Stack<MutationLayer, L>>;

    /// Runs the validators of a chain: [`ValidationLayer`].
    fn validate(self, chain: impl Into<ChainSource>) -> ServiceBuilder<Stack<ValidationLayer, L>>;

    /// Runs the sinks of a chain: [`SinkLayer`].
    fn sink(self, chain: impl Into<ChainSource>) -> ServiceBuilder<Stack<SinkLayer, L>>;

    /// Calls a function with each message: [`from_fn`].
    fn middleware<F, Fut>(self, function: F) -> ServiceBuilder<Stack<FromFnLayer<F>, L>>
    where
        F: Fn(Message, Next) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Reply, BoxError>> + Send + 'static;

    /// Limits how long a call may take, to the end of its reply: [`DeadlineLayer`], which can also limit silence.
    fn deadline(self, total: Duration) -> ServiceBuilder<Stack<DeadlineLayer, L>>;

    /// Limits how many calls run at a time and refuses more: [`InFlightLayer`], which can also let them wait.
    fn in_flight(self, limit: usize) -> ServiceBuilder<Stack<InFlightLayer, L>>;

    /// Applies a layer to calls alone: [`requests_only`].
    fn requests_only<T>(self, layer: T) -> ServiceBuilder<Stack<RequestsOnlyLayer<T>, L>>;
}

mod sealed {
    pub trait Sealed {}
    impl<L> Sealed for tower::ServiceBuilder<L> {}
}

impl<L> ServiceBuilderExt<L> for ServiceBuilder<L> {
    fn rescue(self) -> ServiceBuilder<Stack<RescueLayer, L>> {
        self.layer(RescueLayer::new())
    }

    fn correlate(self) -> ServiceBuilder<Stack<CorrelateLayer, L>> {
        self.layer(CorrelateLayer::new())
    }

    fn intercept_client_side(
        self,
        chain: impl Into<ChainSource>,
    ) -> ServiceBuilder<Stack<InterceptorLayer, L>> {
        self.layer(InterceptorLayer::client_side(chain))
    }

    fn intercept_server_side(
        self,
        chain: impl Into<ChainSource>,
    ) -> ServiceBuilder<Stack<InterceptorLayer, L>> {
        self.layer(InterceptorLayer::server_side(chain))
    }

    fn mutate(self, chain: impl Into<ChainSource>) -> ServiceBuilder<Stack<MutationLayer, L>> {
        self.layer(MutationLayer::new(chain))
    }

    fn validate(self, chain: impl Into<ChainSource>) -> ServiceBuilder<Stack<ValidationLayer, L>> {
        self.layer(ValidationLayer::new(chain))
    }

    fn sink(self, chain: impl Into<ChainSource>) -> ServiceBuilder<Stack<SinkLayer, L>> {
        self.layer(SinkLayer::new(chain))
    }

    fn middleware<F, Fut>(self, function: F) -> ServiceBuilder<Stack<FromFnLayer<F>, L>>
    where
        F: Fn(Message, Next) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Reply, BoxError>> + Send + 'static,
    {
        self.layer(from_fn(function))
    }

    fn deadline(self, total: Duration) -> ServiceBuilder<Stack<DeadlineLayer, L>> {
        self.layer(DeadlineLayer::new().total(total))
    }

    fn in_flight(self, limit: usize) -> ServiceBuilder<Stack<InFlightLayer, L>> {
        self.layer(InFlightLayer::new(limit))
    }

    fn requests_only<T>(self, layer: T) -> ServiceBuilder<Stack<RequestsOnlyLayer<T>, L>> {
        self.layer(requests_only(layer))
    }
}
