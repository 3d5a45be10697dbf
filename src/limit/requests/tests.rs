use std::convert::Infallible;

use serde_json::json;
use tower::{ServiceBuilder, ServiceExt, layer::layer_fn, util::MapResponse};

use super::requests_only;
use crate::{
    message::{Id, Message},
    reply::{Body, Reply},
};

#[tokio::test]
async fn calls_take_the_layer_and_everything_else_goes_past() {
    // A layer that answers whatever comes through it with one message.
    let marking = layer_fn(|inner| {
        MapResponse::new(inner, |_: Reply| {
            Reply::one(Message::bare_request(&Id::from(0), "through"))
        })
    });
    let service = ServiceBuilder::new()
        .layer(requests_only(marking))
        .service_fn(|_: Message| async { Ok::<_, Infallible>(Reply::accepted()) });
    let through = async |message: Message| {
        let reply = service.clone().oneshot(message).await.unwrap();
        matches!(reply.body, Body::One(_))
    };
    assert!(through(Message::bare_request(&Id::from(1), "tools/call")).await);
    for past in [
        Message::bare_request(&Id::from(1), "subscriptions/listen"),
        Message::notification("notifications/cancelled", &json!({"requestId": 1})).unwrap(),
        Message::response(&Id::from(1), &json!({})).unwrap(),
        Message::listen(),
        Message::end(),
    ] {
        assert!(!through(past.clone()).await, "{past:?}");
    }
}
