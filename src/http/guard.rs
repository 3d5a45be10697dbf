//! A stack in front of a server of the same program.

use tower::ServiceBuilder;
use tower_layer::Layer;

use super::{HttpBackend, InProcess, StreamableHttp};
use crate::{
    correlate::{Correlate, CorrelateLayer},
    proxy::McpProxyService,
    rescue::{Rescue, RescueLayer},
};

/// What [`guard`] makes of a server `S` and layers `L`.
pub type Guarded<S, L> =
    StreamableHttp<Rescue<Correlate<<L as Layer<McpProxyService<HttpBackend<InProcess<S>>>>>::Service>>>;

/// Puts layers in front of an HTTP service that already is an MCP server, without a network in between: an axum
/// router, the service of an SDK, any `Service<http::Request<B>>` that does not insist on the body of one server.
///
/// `layers` is one layer, or several in a [`ServiceBuilder`]. [`RescueLayer`] and [`CorrelateLayer`] come outside of
/// them by themselves. What is returned is mounted in the server's place, under `route_service` or `nest_service`, and
/// behind any HTTP layers: what those leave in a request's extensions the interceptors see (a
/// [`Principal`](crate::message::Principal) is the principal of their context, and all of them are in
/// [`Exchange::http`](crate::message::Exchange::http)), and the server too. Its `Host` and `Origin` are checked as in
/// [`StreamableHttp`], whose methods change that.
///
/// ```
/// use axum::{Json, Router, response::IntoResponse, routing::post};
/// use mcp_interceptors::{BoxError, chain::Chain, http, intercept::InterceptorLayer, interceptor::Interceptor};
/// use serde_json::{Value, json};
///
/// async fn mcp(Json(request): Json<Value>) -> impl IntoResponse {
///     Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}}))
/// }
///
/// # fn main() -> Result<(), BoxError> {
/// let server = Router::new().route("/mcp", post(mcp));
///
/// let nothing = Interceptor::validator("nothing").on("tools/call").request().handler(async || false);
/// let chain = Chain::builder().interceptor(nothing).build()?;
/// let app: Router = Router::new()
///     .route_service("/mcp", http::guard(server, InterceptorLayer::server_side(chain)));
/// # let _ = app;
/// # Ok(())
/// # }
/// ```
pub fn guard<S, L>(server: S, layers: L) -> Guarded<S, L>
where
    S: Clone,
    L: Layer<McpProxyService<HttpBackend<InProcess<S>>>>,
    L::Service: Clone,
{
    let stack = ServiceBuilder::new()
        .layer(RescueLayer::new())
        .layer(CorrelateLayer::new())
        .layer(layers)
        .service(McpProxyService::new(HttpBackend::in_process(server)));
    StreamableHttp::new(stack)
}
