//! What the two ends of one connection must know of each other: the stream that reads heads, and the service
//! that answers them.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::refusal::Refusal;

/// The state of one connection. Both ends run in its one task; the atomics only make that safe to say.
#[derive(Debug, Default)]
pub(super) struct Visit {
    /// A request is being answered, so that silence of the client is no idleness.
    answering: AtomicBool,
    /// The connection speaks another protocol now.
    upgraded: AtomicBool,
    /// The head that the stream has replaced, because nobody should read it.
    bad_head: OnceLock<Refusal>,
    /// The connection has more to do as soon as what is ready is on its way.
    again: AtomicBool,
    /// Nobody needs it any more.
    spent: Mutex<Option<Spent>>,
}

type Spent = Box<dyn Any + Send>;

impl Visit {
    /// Whether a request is being answered. If so, the stream is asked for the next one when that is over.
    pub(super) fn is_answering(&self) -> bool {
        self.answering.load(Ordering::Relaxed)
    }

    pub(super) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Relaxed)
    }

    /// The next request that arrives at the service stands for this refusal.
    pub(super) fn set_bad_head(&self, refusal: Refusal) {
        self.bad_head.get_or_init(|| refusal);
    }

    pub(super) fn bad_head(&self) -> Option<Refusal> {
        self.bad_head.get().copied()
    }

    /// Whether the connection is to be polled once more before anything else is.
    pub(super) fn take_again(&self) -> bool {
        self.again.swap(false, Ordering::Relaxed)
    }

    /// What is ready is on its way: gives back what it was made of.
    pub(super) fn drop_spent(&self) {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(spent);
    }
}

/// Seen by handlers as an extension of a request that was routed; a straight one asks its [`Arrival`](super::Arrival). A body that has nothing more for a moment, so that what it gave is
/// sent, asks here to be polled again. To wake its task would do the same by way of another thread.
#[derive(Debug, Clone)]
pub struct Again(Arc<Visit>);

impl Again {
    pub(super) fn new(visit: &Arc<Visit>) -> Again {
        Again(visit.clone())
    }

    /// Holds for the poll of the body that is under way.
    pub fn ask(&self) {
        self.0.again.store(true, Ordering::Relaxed);
    }

    /// Drops what an answer was made of once the answer is on its way: nobody waits for that.
    pub fn drop_later(&self, spent: impl Send + 'static) {
        let before = self.0.spent.lock().unwrap_or_else(PoisonError::into_inner).replace(Box::new(spent));
        drop(before);
    }
}

/// A request is being answered for as long as this lives: until its answer's last byte is handed over.
pub(super) struct Answering(Arc<Visit>);

impl Answering {
    pub(super) fn start(visit: &Arc<Visit>) -> Answering {
        visit.answering.store(true, Ordering::Relaxed);
        Answering(visit.clone())
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
        // The time of silence begins, but hyper would not look for the next head before its first byte is there.
        self.0.again.store(true, Ordering::Relaxed);
    }
}
