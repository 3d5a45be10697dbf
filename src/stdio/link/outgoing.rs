//! What waits to be written, in two lanes.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::OwnedSemaphorePermit;

use crate::message::Id;

/// How many bytes of our own answers and cancels may wait for a server that does not read.
const URGENT_LIMIT: usize = 1024 * 1024;

/// One line.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) line: Vec<u8>,
    /// The call it starts, by its minted id.
    pub(super) call: Option<Id>,
    /// Given back when the line is written.
    pub(super) permit: Option<Arc<OwnedSemaphorePermit>>,
}

/// The cancel lane exists because a drop cannot wait, and because a cancel must not queue behind the calls it
/// is to stop. It is bounded by the calls in flight.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    urgent: VecDeque<Vec<u8>>,
    urgent_bytes: usize,
    normal: VecDeque<Frame>,
}

impl Outgoing {
    pub(super) fn push(&mut self, frame: Frame) {
        self.normal.push_back(frame);
    }

    pub(super) fn push_urgent(&mut self, line: Vec<u8>) {
        if self.urgent_bytes + line.len() <= URGENT_LIMIT {
            self.urgent_bytes += line.len();
            self.urgent.push_back(line);
        }
    }

    /// Takes back the request that starts a call; `false` when it was sent already.
    pub(super) fn take_back(&mut self, call: &Id) -> bool {
        let before = self.normal.len();
        self.normal.retain(|frame| frame.call.as_ref() != Some(call));
        self.normal.len() < before
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        if let Some(line) = self.urgent.pop_front() {
            self.urgent_bytes -= line.len();
            return Some(Frame {
                line,
                call: None,
                permit: None,
            });
        }
        self.normal.pop_front()
    }
}
