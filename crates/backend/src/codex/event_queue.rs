//! Queue of the events of one turn, with a limit on the bytes that wait.
//!
//! The reader of a process serves all of its turns, so it never waits for one. A turn whose events are not read is
//! given up instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::sync::mpsc;

use super::turn_tracker::TurnEnding;
use crate::{BackendError, BackendErrorKind, TurnEvent};

/// Cost of an event on top of its text.
const EVENT_BYTES: usize = 64;

#[derive(Debug, PartialEq)]
pub(super) enum QueueItem {
    Event(TurnEvent),
    /// The model is working and has no output yet.
    SignOfLife,
    End(TurnEnding),
}

#[derive(Debug)]
pub(super) struct TurnEventSender {
    queue: mpsc::UnboundedSender<QueueItem>,
    waiting: Arc<AtomicUsize>,
    limit: usize,
}

#[derive(Debug)]
pub(super) struct TurnEventReceiver {
    queue: mpsc::UnboundedReceiver<QueueItem>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn queue(limit: usize) -> (TurnEventSender, TurnEventReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (
        TurnEventSender { queue: sender, waiting: Arc::clone(&waiting), limit },
        TurnEventReceiver { queue: receiver, waiting },
    )
}

impl TurnEventSender {
    /// Queues an event. Returns false if the queue is full or its receiver is gone.
    pub(super) fn send(&self, delivery: QueueItem) -> bool {
        let cost = cost(&delivery);
        let before = self.waiting.fetch_add(cost, Ordering::Relaxed);
        // One event of any size is always taken, or a long one could never pass.
        (before == 0 || before + cost <= self.limit) && self.queue.send(delivery).is_ok()
    }

    /// Queues the end of the turn, even if the queue is full.
    pub(super) fn end(&self, end: TurnEnding) {
        // The receiver may be gone.
        let _gone = self.queue.send(QueueItem::End(end));
    }

    /// Ends a turn that is not read. The caller must interrupt it.
    pub(super) fn give_up(&self) {
        let message = format!(
            "the answer is read more slowly than the model writes it: more than {} KiB are waiting",
            self.limit / 1024
        );
        self.end(TurnEnding {
            outcome: Err(BackendError::new(BackendErrorKind::Overloaded, message)),
            still_running: false,
        });
    }
}

impl TurnEventReceiver {
    /// Returns the end of the turn if it is queued, and drops everything before it.
    pub(super) fn take_end(&mut self) -> Option<TurnEnding> {
        while let Ok(delivery) = self.queue.try_recv() {
            if let QueueItem::End(end) = delivery {
                return Some(end);
            }
        }
        None
    }

    /// `Ready(None)` if the sender is gone without an end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<QueueItem>> {
        let taken = self.queue.poll_recv(context);
        if let Poll::Ready(Some(delivery)) = &taken {
            self.waiting.fetch_sub(cost(delivery), Ordering::Relaxed);
        }
        taken
    }
}

fn cost(delivery: &QueueItem) -> usize {
    let text = match delivery {
        QueueItem::Event(event) => match event {
            TurnEvent::Text(text) | TurnEvent::SealedReasoning(text) | TurnEvent::Refusal(text) => text.len(),
            TurnEvent::Reasoning { text, .. } => text.len(),
            TurnEvent::Call(call) => call.call_id.len() + call.name.len() + call.arguments.len(),
            TurnEvent::NextMessage | TurnEvent::Usage(_) | TurnEvent::Done(_) => 0,
        },
        QueueItem::SignOfLife => 0,
        // Not counted when it is sent, either.
        QueueItem::End(_) => return 0,
    };
    text + EVENT_BYTES
}
