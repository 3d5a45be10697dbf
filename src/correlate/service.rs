use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use super::{
    ResponseFuture,
    future::{Call, Watch},
    table::{Scope, Table},
};
use crate::{
    BoxError, McpService,
    message::{AnswerNames, Id, Kind, Message, Origin},
    reply::Reply,
};

/// Names the requests behind answers; see the [module](crate::correlate).
#[derive(Clone, Debug)]
pub struct Correlate<S> {
    inner: S,
    table: Table,
}

impl<S> Correlate<S> {
    pub(super) fn new(inner: S, table: Table) -> Self {
        Self { inner, table }
    }

    crate::macros::inner_accessors!();
}

impl<S: McpService> Service<Message> for Correlate<S> {
    type Response = Reply;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut message: Message) -> Self::Future {
        let exchange = Arc::clone(message.exchange());
        let mut running = None;
        match message.kind() {
            Kind::Request => running = self.table.call(&message),
            Kind::Response | Kind::Error => {
                match self.table.client_answers(&Scope::of(&exchange), &message) {
                    Some(asked) => message = message.with_in_reply_to(asked),
                    None => {
                        tracing::debug!("swallowed an answer that nobody asked for");
                        return ResponseFuture::new(Call::Swallowed, None);
                    }
                }
            }
            Kind::Notification if message.method_bytes() == b"notifications/cancelled" => {
                if let Some(id) = cancelled(&message) {
                    self.table.cancel(&Scope::of(&exchange), id);
                }
            }
            Kind::Listen => {
                // Policy layers stand inside and see what comes on this stream first: they ask here.
                let (table, scope) = (self.table.clone(), Scope::of(&exchange));
                exchange.slots().get_or_insert(|| {
                    Arc::new(AnswerNames::new(move |answer| table.resumed(&scope, answer)))
                });
            }
            Kind::Notification | Kind::End => {}
        }
        let watch = Watch {
            table: self.table.clone(),
            exchange,
            origin: Origin::of(&message),
            running,
            answered: false,
        };
        ResponseFuture::new(
            Call::Inner {
                call: self.inner.call(message),
            },
            Some(watch),
        )
    }
}

/// The request that `notifications/cancelled` names.
fn cancelled(message: &Message) -> Option<Id> {
    Id::from_json(message.payload().get("/requestId").ok()??.raw())
}
