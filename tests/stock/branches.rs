//! `Either`, `option_layer` and `Steer`: every branch has the same reply, so they just work.

use mcp_interceptors::{
    BoxError, McpService, ServiceBuilderExt, check, limit::DeadlineLayer, message::Message,
};
use tower::{
    ServiceBuilder, ServiceExt,
    steer::Steer,
    util::{BoxCloneSyncService, Either, option_layer},
};

use crate::support::{Counted, SECOND, call, chain, is_timeout, passes, slow};

#[tokio::test(start_paused = true)]
async fn option_layer_is_the_layer_or_nothing() {
    for deadline in [Some(DeadlineLayer::new().total(SECOND)), None] {
        let service = ServiceBuilder::new()
            .rescue()
            .layer(option_layer(deadline))
            .service(slow(2 * SECOND, true));
        let reply = check(service).oneshot(call(1)).await.unwrap();
        let answer = crate::support::answer(reply).await;
        assert_eq!(
            answer["error"]["data"]["kind"] == "backend_timeout",
            deadline.is_some()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn either_is_one_stack_or_the_other() {
    let guarded = |on: bool| -> Either<_, _> {
        let count = Counted::default();
        if on {
            Either::Left(
                ServiceBuilder::new()
                    .intercept_client_side(chain(passes(&count)))
                    .service(count.backend()),
            )
        } else {
            Either::Right(count.backend())
        }
    };
    for on in [true, false] {
        check(guarded(on)).oneshot(call(1)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn steer_sends_messages_to_one_of_several_stacks() {
    fn boxed(
        service: impl McpService<Error = BoxError>,
    ) -> BoxCloneSyncService<Message, mcp_interceptors::reply::Reply, BoxError> {
        BoxCloneSyncService::new(service)
    }
    let (fast, count) = (ServiceBuilder::new().deadline(SECOND), Counted::default());
    let stacks = [
        boxed(fast.service(slow(2 * SECOND, false))),
        boxed(count.backend()),
    ];
    let service = check(Steer::new(stacks, |message: &Message, _: &[_]| {
        usize::from(!message.is_request("tools/call"))
    }));
    assert!(is_timeout(&service.clone().oneshot(call(1)).await.unwrap_err()));
    service.oneshot(Message::listen()).await.unwrap();
    assert_eq!(count.get(), 1);
}
