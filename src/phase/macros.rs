//! What the phase layers have in common but their name.

/// Defines a layer's service: a name for [`Phase`](crate::phase::Phase).
macro_rules! phase_service {
    ($(#[$docs:meta])* $service:ident) => {
        $(#[$docs])*
        #[derive(Clone, Debug)]
        pub struct $service<S>(crate::phase::Phase<S>);

        impl<S> $service<S> {
            pub(crate) fn with_policy(inner: S, policy: crate::phase::Policy) -> Self {
                Self(crate::phase::Phase::new(inner, policy))
            }

            /// The inner service.
            pub fn get_ref(&self) -> &S {
                &self.0.inner
            }

            /// The inner service, to change it.
            pub fn get_mut(&mut self) -> &mut S {
                &mut self.0.inner
            }

            /// The inner service, without the layer.
            pub fn into_inner(self) -> S {
                self.0.inner
            }
        }

        impl<S: crate::McpService> tower_service::Service<crate::message::Message> for $service<S> {
            type Response = crate::reply::Reply;
            type Error = crate::BoxError;
            type Future = crate::phase::ResponseFuture<S, S::Future>;

            fn poll_ready(
                &mut self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Result<(), crate::BoxError>> {
                self.0.poll_ready(cx)
            }

            fn call(&mut self, message: crate::message::Message) -> Self::Future {
                self.0.call(message)
            }
        }
    };
}

/// Defines a layer that takes one kind of step.
macro_rules! phase_layer {
    ($(#[$docs:meta])* $layer:ident => $service:ident, $part:expr) => {
        $(#[$docs])*
        #[derive(Clone, Debug)]
        pub struct $layer(crate::phase::Policy);

        impl $layer {
            /// A layer that takes its part of a [`Chain`](crate::chain::Chain), or of a
            /// [`SharedChain`](crate::chain::SharedChain).
            pub fn new(chain: impl Into<crate::chain::ChainSource>) -> Self {
                Self(crate::phase::Policy::new(chain, $part))
            }
        }

        // The bound says where the mistake is: at the service that is not `Clone`, not layers further out.
        impl<S: Clone> tower_layer::Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&self, inner: S) -> $service<S> {
                $service::with_policy(inner, self.0.clone())
            }
        }
    };
}

pub(crate) use {phase_layer, phase_service};
