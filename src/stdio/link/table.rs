//! The tables of a link: who waits for what.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{
    options::LinkOptions,
    outgoing::Outgoing,
    queue::{Item, Queue, cost},
};
use crate::{
    message::{Exchange, Id, Message},
    proxy::BackendError,
};

/// How many tokens of answered calls are remembered: a task's progress goes on after its call was answered.
const RETIRED: usize = 1024;

/// What a link had to drop, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounts {
    /// Lines that were no message: banners, broken JSON.
    pub garbage: u64,
    /// Lines longer than allowed.
    pub too_long: u64,
    /// Answers and progress that nobody waits for, late ones of cancelled calls among them.
    pub unclaimed: u64,
    /// Messages that belonged to nobody, or for which nobody listened in time.
    pub unrouted: u64,
    /// Replies ended because they were read too slowly.
    pub overflows: u64,
}

/// Whose ids these are: the same id of two clients names two calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Connection(usize),
    Session(Arc<str>),
    Exchange(usize),
}

impl Scope {
    /// An address stays unique for as long as the exchange is held, and a call holds its own.
    pub(super) fn of(exchange: &Arc<Exchange>) -> Self {
        match (exchange.connection(), exchange.session()) {
            (Some(connection), _) => Self::Connection(Arc::as_ptr(connection).addr()),
            (None, Some(session)) => Self::Session(session.into()),
            (None, None) => Self::Exchange(Arc::as_ptr(exchange).addr()),
        }
    }
}

/// A request that is not answered yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) token: Option<Id>,
    pub(super) scope: Scope,
    pub(super) exchange: Arc<Exchange>,
    pub(super) queue: Arc<Queue>,
    /// `initialize`, which must never be cancelled.
    pub(super) initialize: bool,
    /// `subscriptions/listen`, whose reply takes only what names it.
    pub(super) listens: bool,
}

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) number: u64,
    pub(super) queue: Arc<Queue>,
    pub(super) exchange: Arc<Exchange>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// By minted id, which is the minted progress token as well.
    pub(super) calls: HashMap<Id, Call>,
    /// Requests of the server that are not answered; how often, since a server may use an id twice.
    pub(super) asked: HashMap<Id, usize>,
    pub(super) listeners: Vec<Listener>,
    pub(super) listeners_so_far: u64,
    /// What came while nobody listened.
    pub(super) early: VecDeque<Message>,
    early_bytes: usize,
    early_limit: usize,
    retired: VecDeque<(Id, Id)>,
    pub(super) out: Outgoing,
    pub(super) counts: LinkCounts,
    pub(super) closing: bool,
    /// The server does not read any more, but may still say something.
    pub(super) broken: bool,
    gone: &'static str,
    dead: Option<Box<str>>,
}

impl State {
    pub(super) fn new(options: &LinkOptions) -> Self {
        Self {
            early_limit: options.queue_bytes,
            gone: options.gone,
            ..Self::default()
        }
    }

    /// Why nothing can be sent any more.
    pub(super) fn refusal(&self) -> Option<BackendError> {
        match &self.dead {
            Some(reason) => Some(BackendError::unavailable(&**reason)),
            None if self.broken => Some(BackendError::unavailable(self.gone)),
            None if self.closing => Some(BackendError::unavailable(
                "the connection to the server was closed",
            )),
            None => None,
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.is_some()
    }

    /// The calls that something without a name can belong to: whose client still reads.
    fn open_calls(&self) -> impl Iterator<Item = (&Id, &Call)> {
        self.calls
            .iter()
            .filter(|(_, call)| !call.listens && !call.exchange.is_left())
    }

    /// The only call that something without a name can belong to.
    pub(super) fn only_call(&self) -> Option<&Id> {
        let mut calls = self.open_calls();
        let first = calls.next()?;
        calls.next().is_none().then_some(first.0)
    }

    /// Of several calls the one that began last.
    pub(super) fn last_call(&self) -> Option<&Id> {
        let minted = |(id, _): &(&Id, &Call)| id.as_json().parse::<i64>().ok();
        self.open_calls().max_by_key(minted).map(|(id, _)| id)
    }

    /// Removes a call; its token is remembered for what comes late.
    pub(super) fn retire(&mut self, minted: &Id) -> Option<Call> {
        let call = self.calls.remove(minted)?;
        if let Some(token) = &call.token {
            if self.retired.len() == RETIRED {
                self.retired.pop_front();
            }
            self.retired.push_back((minted.clone(), token.clone()));
        }
        Some(call)
    }

    pub(super) fn retired_token(&self, minted: &Id) -> Option<&Id> {
        self.retired
            .iter()
            .find(|(id, _)| id == minted)
            .map(|(_, token)| token)
    }

    /// Keeps a message for whoever listens next; what must go for it is returned.
    pub(super) fn keep_early(&mut self, message: Message) -> Vec<Message> {
        self.early_bytes += cost(&message);
        self.early.push_back(message);
        let mut dropped = Vec::new();
        while self.early_bytes > self.early_limit && self.early.len() > 1 {
            if let Some(oldest) = self.early.pop_front() {
                self.early_bytes -= cost(&oldest);
                self.counts.unrouted += 1;
                dropped.push(oldest);
            }
        }
        dropped
    }

    pub(super) fn take_early(&mut self) -> VecDeque<Message> {
        self.early_bytes = 0;
        std::mem::take(&mut self.early)
    }

    /// The request is not one of the calls any more, and the server need not go on with it.
    pub(super) fn give_up(&mut self, minted: &Id) -> Option<Call> {
        let call = self.calls.remove(minted)?;
        if !self.out.take_back(minted) && !call.initialize {
            self.out.push_urgent(super::rewrite::cancel_line(minted));
        }
        Some(call)
    }

    /// Ends everything, once.
    pub(super) fn die(&mut self, reason: &str) {
        if self.dead.is_some() {
            return;
        }
        self.dead = Some(reason.into());
        for (_, call) in self.calls.drain() {
            call.queue
                .end(Item::Failed(BackendError::unavailable(reason).into()));
        }
        for listener in self.listeners.drain(..) {
            listener.queue.end(if self.closing {
                Item::End
            } else {
                Item::Failed(BackendError::unavailable(reason).into())
            });
        }
        self.asked.clear();
        self.take_early();
        self.retired.clear();
        self.out = Outgoing::default();
    }
}
