//! An interceptor of a server, as a service.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::{sync::Notify, time::Instant};
use tower_service::Service;

use super::{InterceptorServer, ServerError};
use crate::{
    BoxError,
    interceptor::{Invocation, InvocationContext, InvokeParams, Outcome, rfc3339_utc},
};

const GRACE: Duration = Duration::from_secs(1);

/// Asks interceptors of a server: `Service<Invocation, Response = Outcome>`. Which one, the invocation says.
///
/// ```
/// use mcp_interceptors::{
///     client::{InterceptorServer, RemoteInterceptor},
///     interceptor::{Descriptor, Hook, Interceptor, InterceptorType, Phase},
/// };
/// # use mcp_interceptors::{BoxError, message::Message, reply::Reply};
/// # async fn service(_: Message) -> Result<Reply, BoxError> { Ok(Reply::accepted()) }
/// # let service = tower::service_fn(service);
///
/// let server = InterceptorServer::new("guards", service);
/// let guard = Descriptor::new("guard", InterceptorType::Validation)?
///     .with_hook(Hook::parse(Phase::Request, ["tools/call"])?);
/// let guard = Interceptor::new(guard, RemoteInterceptor::new(server)).hosted_by("guards");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The server is told how much time is left. Nothing is sent when there is none.
#[derive(Clone)]
pub struct RemoteInterceptor {
    server: InterceptorServer,
    doubt: Option<Arc<Notify>>,
}

impl RemoteInterceptor {
    /// Asks interceptors of that server.
    #[must_use]
    pub fn new(server: InterceptorServer) -> Self {
        Self { server, doubt: None }
    }

    /// Tells when an answer says that the server's list may have changed.
    pub(super) fn doubting(mut self, doubt: Arc<Notify>) -> Self {
        self.doubt = Some(doubt);
        self
    }
}

impl Service<Invocation> for RemoteInterceptor {
    type Response = Outcome;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Outcome, BoxError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, invocation: Invocation) -> Self::Future {
        let Self { server, doubt } = self.clone();
        Box::pin(async move {
            let params = params(&invocation)?;
            let asked = match params.timeout {
                Some(left) if left.is_zero() => return Err("there is no time left".into()),
                // The chain that keeps the time is to find it used up.
                Some(left) => server.invoke_within(params, left, GRACE).await,
                None => server.invoke(params).await,
            };
            match asked {
                Ok(result) => Ok(result.into_outcome()?),
                Err(error) => {
                    tell(doubt.as_deref(), &error);
                    Err(error.into())
                }
            }
        })
    }
}

fn tell(doubt: Option<&Notify>, error: &ServerError) {
    if let Some(doubt) = doubt.filter(|_| error.doubts_the_list()) {
        doubt.notify_one();
    }
}

fn params(invocation: &Invocation) -> Result<InvokeParams, BoxError> {
    let payload = RawValue::from_string(invocation.payload.as_json().to_owned())?;
    let mut params = InvokeParams::new_raw(&*invocation.name, &*invocation.event, invocation.phase, payload)
        .with_context(context(invocation));
    params.config = invocation.config.as_deref().map(ToOwned::to_owned);
    params.timeout = invocation
        .deadline
        .map(|deadline| deadline.saturating_duration_since(Instant::now()));
    Ok(params)
}

/// The context, with the time that the SEP demands.
fn context(invocation: &Invocation) -> InvocationContext {
    let mut context = InvocationContext::clone(&invocation.context);
    context
        .timestamp
        .get_or_insert_with(|| rfc3339_utc(SystemTime::now()));
    context
}

impl fmt::Debug for RemoteInterceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteInterceptor")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
