//! A chain that is replaced while an exchange runs.

use mcp_interceptors::{
    BoxError,
    chain::SharedChain,
    message::Message,
    reply::{Body, Events, Reply},
};
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::{
    scripted::{chain, deny, three},
    support::{BUILDS, CALL, Log, SIDES, answer, call, notification, one, stack},
};

const PROGRESS: &str = "notifications/progress";

#[tokio::test]
async fn an_exchange_keeps_the_chain_it_began_with_to_the_end_of_its_stream() {
    for side in SIDES {
        for build in BUILDS {
            let log = Log::default();
            let shared = SharedChain::new(three(&log, &[CALL, PROGRESS]));
            let (sender, receiver) = mpsc::unbounded_channel::<Message>();
            let receiver = std::sync::Arc::new(std::sync::Mutex::new(Some(receiver)));
            let swap = shared.clone();
            let service = stack(
                build,
                side,
                shared.clone(),
                tower::service_fn(move |_: Message| {
                    // The chain is replaced after the request has passed all layers.
                    swap.swap(chain([deny(PROGRESS), deny(CALL)]));
                    let receiver = receiver.lock().unwrap().take();
                    async move {
                        let mut receiver = receiver.ok_or("called twice")?;
                        let stream = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
                        let stream = futures::StreamExt::map(stream, Ok::<_, BoxError>);
                        Ok::<_, BoxError>(Reply::many(Events::new(stream)))
                    }
                }),
            );
            let message = call();
            let Body::Many(mut events) = service.clone().oneshot(message).await.unwrap().body else {
                panic!("a stream")
            };
            log.take();
            sender.send(notification(PROGRESS)).unwrap();
            sender.send(answer()).unwrap();
            let first = events.next().await.unwrap().unwrap();
            assert_eq!(
                first.message(),
                Some(&notification(PROGRESS)),
                "{build:?} {side:?}"
            );
            let ran = log.take();
            assert!(ran.contains(&format!("V {PROGRESS} request")), "{ran:?}");
            let second = events.next().await.unwrap().unwrap();
            assert_eq!(second.message(), Some(&answer()));
            // The next exchange begins with the new one.
            let reply = one(service.oneshot(call()).await.unwrap());
            assert!(reply.is_made_by_stack());
        }
    }
}

#[tokio::test]
async fn a_chain_swapped_between_two_layers_does_not_open_a_hole() {
    use mcp_interceptors::{
        interceptor::Interceptor, message::Payload, mutation::MutationLayer, validation::ValidationLayer,
    };
    let shared = SharedChain::new(chain([]));
    let swap = shared.clone();
    let old = chain([
        Interceptor::mutator("m").on(CALL).request().handler(move || {
            // While the old mutator runs, a chain without the validator comes.
            swap.swap(chain([]));
            async { None::<Payload> }
        }),
        deny(CALL),
    ]);
    shared.swap(old);
    let service = tower::ServiceBuilder::new()
        .layer(MutationLayer::new(shared.clone()))
        .layer(ValidationLayer::new(shared.clone()))
        .service_fn(|_: Message| async { Ok::<_, BoxError>(Reply::one(answer())) });
    let reply = one(service.oneshot(call()).await.unwrap());
    assert!(reply.is_made_by_stack());
}
