//! Functions as interceptors, with typed arguments.
//!
//! As with axum's handlers, an argument's type says what it is: [`Payload`](crate::message::Payload),
//! [`Json`], [`Config`], [`Event`], [`Phase`](super::Phase), [`Context`], [`State`], [`Deadline`],
//! [`Cancellation`](crate::message::Cancellation). An argument that cannot be had (a payload of another form,
//! a key twice) is a failure of the interceptor, and its `failOpen` decides.

mod answer;
mod extract;

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use futures::future::BoxFuture;
use tower_service::Service;

use super::{Invocation, Outcome};
use crate::BoxError;

pub use answer::{IntoAnswer, Mutator, Sink, Validator};
pub use extract::{Config, Context, Deadline, Event, FromInvocation, Json, State};

/// A function that can be an interceptor of kind `K`, with up to eight arguments.
///
/// It is implemented for functions and closures; nobody implements it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no function that can be an interceptor",
    note = "it must be an `async fn` (or return a `Send` future), take only arguments that implement `FromInvocation`, \
            and return what its kind of interceptor may return"
)]
pub trait Handler<K, S, Args>: Clone + Send + Sync + 'static {
    /// Runs the function on an invocation.
    fn invoke(&self, invocation: &Invocation, state: &S) -> BoxFuture<'static, Result<Outcome, BoxError>>;
}

macro_rules! handlers {
    ($($arg:ident)*) => {
        impl<K, S, Func, Fut, Answer, $($arg,)*> Handler<K, S, ($($arg,)*)> for Func
        where
            Func: Fn($($arg),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = Answer> + Send + 'static,
            Answer: IntoAnswer<K>,
            $($arg: FromInvocation<S>,)*
        {
            #[allow(unused_variables, reason = "a function without arguments reads neither")]
            fn invoke(&self, invocation: &Invocation, state: &S) -> BoxFuture<'static, Result<Outcome, BoxError>> {
                #[allow(non_snake_case, reason = "arguments are named like their types")]
                let future = {
                    $(
                        let $arg = match $arg::from_invocation(invocation, state) {
                            Ok(arg) => arg,
                            Err(error) => return Box::pin(std::future::ready(Err(error))),
                        };
                    )*
                    self($($arg),*)
                };
                Box::pin(async move { future.await.into_answer() })
            }
        }
    };
}

handlers!();
handlers!(A1);
handlers!(A1 A2);
handlers!(A1 A2 A3);
handlers!(A1 A2 A3 A4);
handlers!(A1 A2 A3 A4 A5);
handlers!(A1 A2 A3 A4 A5 A6);
handlers!(A1 A2 A3 A4 A5 A6 A7);
handlers!(A1 A2 A3 A4 A5 A6 A7 A8);

/// A function as a `Service<Invocation>`.
pub(super) struct HandlerService<H, K, S, Args> {
    handler: H,
    state: Arc<S>,
    kind: PhantomData<fn() -> (K, Args)>,
}

impl<H, K, S, Args> HandlerService<H, K, S, Args> {
    pub(super) fn new(handler: H, state: S) -> Self {
        Self {
            handler,
            state: Arc::new(state),
            kind: PhantomData,
        }
    }
}

impl<H: Clone, K, S, Args> Clone for HandlerService<H, K, S, Args> {
    fn clone(&self) -> Self {
        Self {
            handler: self.handler.clone(),
            state: Arc::clone(&self.state),
            kind: PhantomData,
        }
    }
}

impl<H, K, S, Args> fmt::Debug for HandlerService<H, K, S, Args> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandlerService")
    }
}

impl<H, K, S, Args> Service<Invocation> for HandlerService<H, K, S, Args>
where
    H: Handler<K, S, Args>,
{
    type Response = Outcome;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Outcome, BoxError>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, invocation: Invocation) -> Self::Future {
        self.handler.invoke(&invocation, &self.state)
    }
}
