//! From the stack to the server.

use std::sync::{Arc, atomic::Ordering};

use futures::future::poll_fn;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Link, WRITE_BUDGET,
    outgoing::Frame,
    queue::{Item, Queue},
    reply::{CallGuard, ListenGuard},
    rewrite,
    table::{Call, Listener, Scope},
};
use crate::{
    BoxError,
    message::{Id, Kind, Message},
    proxy::BackendError,
    reply::{Events, Reply},
    stdio::frame::framed,
};

impl Link {
    pub(super) async fn send(self, message: Message) -> Result<Reply, BoxError> {
        match message.kind() {
            Kind::Request => self.request(message).await,
            Kind::Notification if message.method() == Some("notifications/cancelled") => {
                self.cancel(&message)
            }
            Kind::Notification => self.notification(&message).await,
            Kind::Response | Kind::Error => self.answer(&message).await,
            Kind::Listen => self.listen(&message),
            Kind::End => {
                self.close();
                Ok(Reply::accepted())
            }
        }
    }

    async fn request(self, message: Message) -> Result<Reply, BoxError> {
        let Some(guard) = self.start(message).await? else {
            return Ok(Reply::accepted());
        };
        if poll_fn(|cx| guard.queue().poll_is_event(cx)).await {
            return Ok(Reply::many(Events::new(guard.into_stream())));
        }
        match guard.next().await {
            Item::Answer(answer) => Ok(Reply::one(answer)),
            Item::Failed(error) => Err(error),
            Item::End | Item::Event(_) => Ok(Reply::accepted()),
        }
    }

    /// `None` when the request was cancelled before it could be sent.
    async fn start(self, message: Message) -> Result<Option<CallGuard>, BoxError> {
        let permit = self.space(message.bytes().len()).await?;
        let id = message
            .id()
            .ok_or_else(|| BackendError::garbage("a request without an id"))?;
        let exchange = Arc::clone(message.exchange());
        let queue = Arc::new(Queue::new(self.shared.options.queue_bytes));
        let minted = Id::from(self.shared.minted.fetch_add(1, Ordering::Relaxed));
        let call = Call {
            token: rewrite::token_of_request(&message),
            id,
            scope: Scope::of(&exchange),
            initialize: message.is_request("initialize"),
            listens: message.is_request("subscriptions/listen"),
            exchange,
            queue: Arc::clone(&queue),
        };
        let line = framed(&rewrite::request(message, &minted)?);
        {
            let mut state = self.shared.lock();
            if let Some(refusal) = state.refusal() {
                return Err(refusal.into());
            }
            // Looked at under the lock: a cancel raises the flag before it comes here, so it either finds the
            // flag read or the call in the table.
            if call.exchange.cancellation().is_cancelled() && !call.initialize {
                return Ok(None);
            }
            state.calls.insert(minted.clone(), call);
            state.out.push(Frame {
                line,
                call: Some(minted.clone()),
                permit: Some(Arc::new(permit)),
            });
        }
        self.shared.work.notify_one();
        Ok(Some(CallGuard::new(self, minted, queue)))
    }

    async fn notification(&self, message: &Message) -> Result<Reply, BoxError> {
        let permit = self.space(message.bytes().len()).await?;
        self.push(message, permit)?;
        Ok(Reply::accepted())
    }

    /// Only what the server asked is answered, and once.
    async fn answer(&self, message: &Message) -> Result<Reply, BoxError> {
        let permit = self.space(message.bytes().len()).await?;
        let asked = message.id().is_some_and(|id| self.shared.lock().answered(&id));
        if asked {
            self.push(message, permit)?;
        } else {
            tracing::debug!(server = %self.shared.options.name, "an answer to nothing the server asked was dropped");
        }
        Ok(Reply::accepted())
    }

    fn push(&self, message: &Message, permit: OwnedSemaphorePermit) -> Result<(), BoxError> {
        let line = framed(message);
        let mut state = self.shared.lock();
        if let Some(refusal) = state.refusal() {
            return Err(refusal.into());
        }
        state.out.push(Frame {
            line,
            call: None,
            permit: Some(Arc::new(permit)),
        });
        drop(state);
        self.shared.work.notify_one();
        Ok(())
    }

    /// The client's cancel, in the server's ids and past everything that waits. One for a call that is over, or
    /// is another's, ends here.
    fn cancel(&self, message: &Message) -> Result<Reply, BoxError> {
        let Some(id) = rewrite::request_id(message) else {
            return Ok(Reply::accepted());
        };
        let scope = Scope::of(message.exchange());
        let mut state = self.shared.lock();
        // A client that uses an id twice cancels both: it waits for neither.
        let named: Vec<Id> = state
            .calls
            .iter()
            .filter(|(_, call)| call.scope == scope && call.id == id && !call.initialize)
            .map(|(minted, _)| minted.clone())
            .collect();
        for minted in named {
            let line = framed(&rewrite::with_request_id(message.clone(), &minted)?);
            if let Some(call) = state.calls.remove(&minted) {
                if !state.out.take_back(&minted) {
                    state.out.push_urgent(line);
                }
                call.queue.end(Item::End);
            }
        }
        drop(state);
        self.shared.work.notify_one();
        Ok(Reply::accepted())
    }

    fn listen(self, message: &Message) -> Result<Reply, BoxError> {
        let queue = Arc::new(Queue::new(self.shared.options.queue_bytes));
        let exchange = Arc::clone(message.exchange());
        let number = {
            let mut state = self.shared.lock();
            if let Some(refusal) = state.refusal() {
                return Err(refusal.into());
            }
            // The buffer is as large as the queue, so all of it fits; one message may be larger than both.
            for early in state.take_early() {
                let _ = queue.push(early.with_exchange(Arc::clone(&exchange)));
            }
            state.listeners_so_far += 1;
            let number = state.listeners_so_far;
            state.listeners.push(Listener {
                number,
                queue: Arc::clone(&queue),
                exchange,
            });
            number
        };
        let guard = ListenGuard::new(self, number, queue);
        Ok(Reply::many(Events::new(guard.into_stream())))
    }

    /// Waits until the server has read enough of what was sent before. Cancels do not come through here.
    async fn space(&self, bytes: usize) -> Result<OwnedSemaphorePermit, BoxError> {
        let permits = u32::try_from(bytes.min(WRITE_BUDGET)).unwrap_or(u32::MAX);
        let budget = Arc::clone(&self.shared.budget);
        match budget.acquire_many_owned(permits).await {
            Ok(permit) => Ok(permit),
            Err(_closed) => Err(self
                .shared
                .lock()
                .refusal()
                .unwrap_or_else(|| BackendError::unavailable(self.shared.options.gone))
                .into()),
        }
    }
}
