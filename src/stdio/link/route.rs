//! From the server to whom it concerns.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Shared, next_arrival,
    queue::{Item, Overflow},
    rewrite,
    table::State,
};
use crate::{
    message::{ErrorObject, Id, Kind, Message, PayloadError},
    proxy::BackendError,
    stdio::frame::{answered_id, excerpt, framed},
};

/// How many requests a server may have open. Beyond, it is told so.
const MAX_ASKED: usize = 10_000;
const METHOD_NOT_FOUND: i64 = -32601;
const INTERNAL_ERROR: i64 = -32603;

impl State {
    /// Whether the server waits for this answer; the first one counts.
    pub(super) fn answered(&mut self, id: &Id) -> bool {
        match self.asked.get_mut(id) {
            Some(1) => {
                self.asked.remove(id);
                true
            }
            Some(open) => {
                *open -= 1;
                true
            }
            None => false,
        }
    }
}

impl Shared {
    /// Takes one line. Never waits.
    pub(super) fn take_line(&self, line: &Bytes) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match Message::parse_within(line.clone(), self.options.max_message_bytes) {
            Ok(message) => {
                let mut state = self.lock();
                if state.is_dead() {
                    return;
                }
                // Numbered under the lock, so that numbers rise in every queue.
                let message = message.with_arrival(next_arrival());
                match message.kind() {
                    Kind::Response | Kind::Error => self.answer(&mut state, message),
                    Kind::Request => self.asked(&mut state, message),
                    Kind::Notification | Kind::Listen | Kind::End => self.notification(&mut state, message),
                }
                drop(state);
                // Routing may have queued a cancel or an answer of our own.
                self.work.notify_one();
            }
            Err(error) => {
                let so_far = {
                    let mut state = self.lock();
                    state.counts.garbage += 1;
                    state.counts.garbage
                };
                // What a server prints by mistake may be a secret: a part is enough to find the cause.
                let start = excerpt(line, 64.min(line.len() / 2));
                let error = excerpt(error.to_string().as_bytes(), 200);
                // A server that logs to its output would drown everything else.
                if so_far <= 10 || so_far.is_multiple_of(1_000) {
                    tracing::warn!(server = %self.options.name, error, start, so_far, "the server wrote a line that is no message; skipped");
                }
                self.fail_answered(line, "the server's answer cannot be understood");
            }
        }
    }

    pub(super) fn take_oversized(&self, start: &[u8]) {
        self.lock().counts.too_long += 1;
        tracing::warn!(server = %self.options.name, limit = self.options.max_message_bytes, "the server wrote a line that is too long; skipped");
        self.fail_answered(start, "the server's answer is longer than allowed");
    }

    fn fail_answered(&self, line: &[u8], why: &str) {
        let call = answered_id(line).and_then(|id| self.lock().retire(&id));
        if let Some(call) = call {
            call.queue.end(Item::Failed(BackendError::garbage(why).into()));
        }
    }

    fn answer(&self, state: &mut State, message: Message) {
        let Some(call) = message.id().and_then(|minted| state.retire(&minted)) else {
            state.counts.unclaimed += 1;
            tracing::debug!(server = %self.options.name, "an answer that nobody waits for was dropped");
            return;
        };
        let subscription = rewrite::subscription_id(&message) == message.id();
        let own = message.with_id(&call.id).and_then(|message| {
            if call.listens && subscription {
                rewrite::with_subscription_id(message, &call.id)
            } else {
                Ok(message)
            }
        });
        call.queue.end(match own {
            Ok(message) => Item::Answer(message.with_exchange(Arc::clone(&call.exchange))),
            Err(error) => Item::Failed(
                BackendError::garbage("the server's answer cannot be given back")
                    .with_source(error)
                    .into(),
            ),
        });
    }

    fn asked(&self, state: &mut State, message: Message) {
        let Some(id) = message.id() else { return };
        if self.options.shared {
            state.counts.unrouted += 1;
            let text = "no client can be asked: this server is shared";
            self.refuse(state, &id, METHOD_NOT_FOUND, text);
            return;
        }
        if state.asked.len() >= MAX_ASKED {
            state.counts.unrouted += 1;
            self.refuse(
                state,
                &id,
                INTERNAL_ERROR,
                "too many requests are not answered yet",
            );
            return;
        }
        *state.asked.entry(id).or_default() += 1;
        self.unnamed(state, message);
    }

    fn refuse(&self, state: &mut State, id: &Id, code: i64, text: &str) {
        tracing::warn!(server = %self.options.name, code, "a request of the server was refused: {text}");
        let error = Message::error(Some(id), &ErrorObject::new(code, text));
        state.out.push_urgent(framed(&error));
    }

    fn notification(&self, state: &mut State, message: Message) {
        match message.method() {
            Some("notifications/progress") => {
                if let Some(token) = rewrite::token(&message) {
                    return self.progress(state, message, &token);
                }
            }
            Some("notifications/cancelled") => {
                if let Some(id) = rewrite::request_id(&message) {
                    return self.cancelled(state, message, &id);
                }
            }
            Some(method) if is_broadcast(method) && rewrite::subscription_id(&message).is_none() => {
                return self.to_listener(state, message);
            }
            _ => {}
        }
        match rewrite::subscription_id(&message) {
            Some(minted) if state.calls.get(&minted).is_some_and(|call| call.listens) => {
                self.to_call(state, &minted, |own| rewrite::with_subscription_id(message, own));
            }
            // Of a subscription that is over; under its minted id it would mean nothing to anybody.
            Some(minted) if self.was_minted(&minted) => state.counts.unclaimed += 1,
            _ => self.unnamed(state, message),
        }
    }

    fn progress(&self, state: &mut State, message: Message, minted: &Id) {
        let token = state.calls.get(minted).map(|call| call.token.clone());
        match token {
            Some(Some(token)) => self.to_call(state, minted, |_| rewrite::with_token(message, &token)),
            // The call is answered, but its task may go on.
            None if !self.options.shared => match state.retired_token(minted).cloned() {
                Some(token) => match rewrite::with_token(message, &token) {
                    Ok(message) => self.to_listener(state, message),
                    Err(_) => state.counts.unclaimed += 1,
                },
                None => state.counts.unclaimed += 1,
            },
            // Nobody asked for progress: a strict client would take it for an error.
            Some(None) | None => state.counts.unclaimed += 1,
        }
    }

    /// The server takes back a request of its own, or ends a subscription.
    fn cancelled(&self, state: &mut State, message: Message, id: &Id) {
        if !state.asked.contains_key(id) && state.calls.get(id).is_some_and(|call| call.listens) {
            self.to_call(state, id, |own| rewrite::with_request_id(message, own));
            if let Some(call) = state.retire(id) {
                call.queue.end(Item::End);
            }
            return;
        }
        state.answered(id);
        self.unnamed(state, message);
    }

    fn unnamed(&self, state: &mut State, message: Message) {
        // A client that never listens is asked on any of its calls, or the server would wait for good.
        let unheard = message.kind() == Kind::Request && state.listeners.is_empty();
        let call = state
            .only_call()
            .or_else(|| state.last_call().filter(|_| unheard));
        match call.cloned() {
            Some(minted) => self.to_call(state, &minted, |_| Ok(message)),
            None => self.to_listener(state, message),
        }
    }

    fn to_call(
        &self,
        state: &mut State,
        minted: &Id,
        edit: impl FnOnce(&Id) -> Result<Message, PayloadError>,
    ) {
        let Some(call) = state.calls.get(minted) else {
            return;
        };
        let Ok(message) = edit(&call.id) else {
            state.counts.unclaimed += 1;
            return;
        };
        if let Err(Overflow) = call.queue.push(message.with_exchange(Arc::clone(&call.exchange))) {
            tracing::warn!(server = %self.options.name, "a reply was read too slowly and has been ended");
            state.counts.overflows += 1;
            state.give_up(minted);
        }
    }

    /// To the one who began to listen last; else it waits for the next.
    pub(super) fn to_listener(&self, state: &mut State, message: Message) {
        if state.is_dead() {
            return;
        }
        if self.options.shared {
            // It may be about another client's call.
            state.counts.unrouted += 1;
            return;
        }
        let Some(listener) = state.listeners.last() else {
            for dropped in state.keep_early(message) {
                let so_far = state.counts.unrouted;
                if so_far <= 10 || so_far.is_multiple_of(1_000) {
                    tracing::warn!(server = %self.options.name, so_far, "nobody listens: a message of the server was dropped");
                }
                self.refuse_dropped(state, &dropped);
            }
            return;
        };
        if let Err(Overflow) = listener
            .queue
            .push(message.with_exchange(Arc::clone(&listener.exchange)))
        {
            tracing::warn!(server = %self.options.name, "a listener read too slowly and has been ended");
            state.counts.overflows += 1;
            state.listeners.pop();
        }
    }

    /// A request that is not delivered is answered, or the server waits for good.
    fn refuse_dropped(&self, state: &mut State, message: &Message) {
        if let (Kind::Request, Some(id)) = (message.kind(), message.id())
            && state.answered(&id)
        {
            self.refuse(state, &id, INTERNAL_ERROR, "no client listens");
        }
    }

    fn was_minted(&self, id: &Id) -> bool {
        let next = self.minted.load(std::sync::atomic::Ordering::Relaxed);
        id.as_json()
            .parse::<i64>()
            .is_ok_and(|number| (1..next).contains(&number))
    }
}

/// What is about the server and not about a call, whatever happens to be running.
fn is_broadcast(method: &str) -> bool {
    method.ends_with("/list_changed") || method == "notifications/resources/updated"
}
