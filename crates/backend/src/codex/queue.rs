//! The events of one turn on their way to whoever reads it, with a limit on what may be waiting.
//!
//! The reader of a process serves all of its turns, so it never waits for one. A turn whose events are not
//! taken away is given up instead; how much may be waiting is a setting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::sync::mpsc;

use super::progress::End;
use crate::{BackendError, ErrorKind, TurnEvent};

/// What an event costs on top of its text.
const EVENT_BYTES: usize = 64;

#[derive(Debug, PartialEq)]
pub(super) enum Delivery {
    Event(TurnEvent),
    /// The model is at work and says nothing yet.
    SignOfLife,
    End(End),
}

#[derive(Debug)]
pub(super) struct Sender {
    queue: mpsc::UnboundedSender<Delivery>,
    waiting: Arc<AtomicUsize>,
    limit: usize,
}

#[derive(Debug)]
pub(super) struct Receiver {
    queue: mpsc::UnboundedReceiver<Delivery>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn queue(limit: usize) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (Sender { queue: sender, waiting: Arc::clone(&waiting), limit }, Receiver { queue: receiver, waiting })
}

impl Sender {
    /// Hands an event over. `false` when too much is waiting, or nobody reads any more.
    pub(super) fn send(&self, delivery: Delivery) -> bool {
        let cost = cost(&delivery);
        let before = self.waiting.fetch_add(cost, Ordering::Relaxed);
        // One event of any size is always taken, or a long one could never pass.
        (before == 0 || before + cost <= self.limit) && self.queue.send(delivery).is_ok()
    }

    /// The last word. It is taken whatever is waiting.
    pub(super) fn end(&self, end: End) {
        // Nobody has to be there to hear it.
        let _gone = self.queue.send(Delivery::End(end));
    }

    /// Gives up a turn that is not read. Whoever does so sees to it that the turn is stopped.
    pub(super) fn give_up(&self) {
        let message = format!(
            "the answer is read more slowly than the model writes it: more than {} KiB are waiting",
            self.limit / 1024
        );
        self.end(End {
            outcome: Err(BackendError::new(ErrorKind::Overloaded, message)),
            still_running: false,
        });
    }
}

impl Receiver {
    /// The last word, if it has been said. Everything before it is forgotten.
    pub(super) fn last_word(&mut self) -> Option<End> {
        while let Ok(delivery) = self.queue.try_recv() {
            if let Delivery::End(end) = delivery {
                return Some(end);
            }
        }
        None
    }

    /// `Ready(None)` when the sender is gone without a last word.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Delivery>> {
        let taken = self.queue.poll_recv(context);
        if let Poll::Ready(Some(delivery)) = &taken {
            self.waiting.fetch_sub(cost(delivery), Ordering::Relaxed);
        }
        taken
    }
}

fn cost(delivery: &Delivery) -> usize {
    let text = match delivery {
        Delivery::Event(event) => match event {
            TurnEvent::Text(text) | TurnEvent::SealedReasoning(text) | TurnEvent::Refusal(text) => text.len(),
            TurnEvent::Reasoning { text, .. } => text.len(),
            TurnEvent::Call(call) => call.call_id.len() + call.name.len() + call.arguments.len(),
            TurnEvent::NextMessage | TurnEvent::Usage(_) | TurnEvent::Done(_) => 0,
        },
        Delivery::SignOfLife => 0,
        // Not counted when it is sent, either.
        Delivery::End(_) => return 0,
    };
    text + EVENT_BYTES
}
