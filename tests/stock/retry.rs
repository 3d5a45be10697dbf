//! `retry` sees errors of a head, and no more; and it repeats what stands inside it.

use std::{future::Ready, sync::Arc};

use futures::stream;
use mcp_interceptors::{
    BoxError, ServiceBuilderExt,
    chain::Chain,
    interceptor::Interceptor,
    message::{ErrorObject, Kind, Message, Payload},
    proxy::BackendError,
    reply::{Events, Reply},
};
use tower::{ServiceBuilder, ServiceExt, retry::Policy, util::BoxCloneSyncService};

use crate::support::{Counted, Stack, answer_to, call, client_answer, drain, progress};

/// Tries once more what may be tried twice: reading requests, and calls of tools that are known to be idempotent.
#[derive(Clone)]
struct OnceMore {
    idempotent_tools: Arc<[&'static str]>,
    left: usize,
}

impl OnceMore {
    fn new(tools: &[&'static str]) -> Self {
        Self {
            idempotent_tools: tools.into(),
            left: 1,
        }
    }
}

impl Policy<Message, Reply, BoxError> for OnceMore {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Message, result: &mut Result<Reply, BoxError>) -> Option<Ready<()>> {
        result.as_ref().err()?;
        self.left = self.left.checked_sub(1)?;
        Some(std::future::ready(()))
    }

    fn clone_request(&mut self, message: &Message) -> Option<Message> {
        let repeatable = match message.method().filter(|_| message.kind() == Kind::Request)? {
            "tools/call" => self
                .idempotent_tools
                .iter()
                .any(|tool| message.name() == Some(tool)),
            "tools/list" | "prompts/list" | "prompts/get" | "resources/list" | "resources/read" | "ping" => {
                true
            }
            _ => false,
        };
        repeatable.then(|| message.clone())
    }
}

/// Fails the first time, in the way it is told to.
fn fails_once(count: &Counted, how: fn(&Message) -> Result<Reply, BoxError>) -> Stack {
    let count = count.clone();
    BoxCloneSyncService::new(tower::service_fn(move |message: Message| {
        count.add();
        let first = count.get() == 1;
        async move {
            if first {
                return how(&message);
            }
            Ok(Reply::one(answer_to(&message)))
        }
    }))
}

fn down(_: &Message) -> Result<Reply, BoxError> {
    Err(BackendError::unavailable("down").into())
}

#[tokio::test]
async fn on_a_backend_it_repeats_what_may_be_repeated_and_nothing_else() {
    for (tools, message, calls) in [
        (&["work"][..], call(1), 2),
        (&["other"], call(1), 1),
        (&["work"], client_answer(900), 1),
    ] {
        let count = Counted::default();
        let service = ServiceBuilder::new()
            .retry(OnceMore::new(tools))
            .service(fails_once(&count, down));
        let replied = service.oneshot(message).await;
        assert_eq!((replied.is_ok(), count.get()), (calls == 2, calls));
    }
}

#[tokio::test]
async fn an_error_that_the_server_answers_is_an_answer() {
    fn refuses(message: &Message) -> Result<Reply, BoxError> {
        let error = ErrorObject::new(-32000, "busy");
        Ok(Reply::one(message.answer::<()>(Err(&error))?))
    }
    let count = Counted::default();
    let service = ServiceBuilder::new()
        .retry(OnceMore::new(&["work"]))
        .service(fails_once(&count, refuses));
    let got = drain(service.oneshot(call(1)).await.unwrap()).await.unwrap();
    assert_eq!((got[0].kind(), count.get()), (Kind::Error, 1));
}

#[tokio::test]
async fn a_stream_that_breaks_after_its_head_is_not_repeated() {
    fn breaks(_: &Message) -> Result<Reply, BoxError> {
        let items = [
            Ok(progress()),
            Err(BoxError::from(BackendError::unavailable("gone"))),
        ];
        Ok(Reply::many(Events::new(stream::iter(items))))
    }
    let count = Counted::default();
    let service = ServiceBuilder::new()
        .retry(OnceMore::new(&["work"]))
        .service(fails_once(&count, breaks));
    drain(service.oneshot(call(1)).await.unwrap()).await.unwrap_err();
    assert_eq!(count.get(), 1);
}

/// Outside of the interceptors it runs them again; so it belongs inside, on the backend.
#[tokio::test]
async fn outside_of_interceptors_it_repeats_them() {
    let ran = Counted::default();
    let mutator = {
        let ran = ran.clone();
        Interceptor::mutator("m")
            .on("tools/call")
            .request()
            .handler(move || {
                ran.add();
                async { None::<Payload> }
            })
    };
    let chain = Chain::builder().interceptor(mutator).build().unwrap();
    let retry = || OnceMore::new(&["work"]);

    let outside = ServiceBuilder::new()
        .retry(retry())
        .intercept_client_side(&chain)
        .service(fails_once(&Counted::default(), down));
    outside.oneshot(call(1)).await.unwrap();
    assert_eq!(ran.get(), 2);

    let inside = ServiceBuilder::new()
        .intercept_client_side(&chain)
        .retry(retry())
        .service(fails_once(&Counted::default(), down));
    inside.oneshot(call(1)).await.unwrap();
    assert_eq!(ran.get(), 3);
}
