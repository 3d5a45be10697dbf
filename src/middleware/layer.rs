use std::{any::type_name, fmt};

use tower_layer::Layer;

use super::{FromFn, Next};
use crate::{BoxError, message::Message, reply::Reply};

/// Makes a layer of an async function; see the [module](crate::middleware) for examples.
///
/// The function gets every message that comes this way: requests, notifications, the client's answers, `Listen`
/// and `End`. What it has no opinion on it passes to `next`.
///
/// ```
/// use mcp_interceptors::{BoxError, message::Message, middleware::from_fn, reply::Reply};
/// use tower::ServiceBuilder;
///
/// let service = ServiceBuilder::new()
///     .layer(from_fn(|message, next| async move { next.run(message).await }))
///     .service_fn(|_: Message| async { Ok::<_, BoxError>(Reply::accepted()) });
/// # let _ = mcp_interceptors::check(service);
/// ```
pub fn from_fn<F, Fut>(function: F) -> FromFnLayer<F>
where
    F: Fn(Message, Next) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Reply, BoxError>> + Send + 'static,
{
    FromFnLayer { function }
}

/// Applies [`FromFn`]; made by [`from_fn`].
#[derive(Clone, Copy)]
#[must_use]
pub struct FromFnLayer<F> {
    function: F,
}

impl<S: Clone, F: Clone> Layer<S> for FromFnLayer<F> {
    type Service = FromFn<F, S>;

    fn layer(&self, inner: S) -> FromFn<F, S> {
        FromFn::new(self.function.clone(), inner)
    }
}

impl<F> fmt::Debug for FromFnLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FromFnLayer").field(&type_name::<F>()).finish()
    }
}
