//! What the two ends of one connection must know of each other: the stream that reads heads, and the service
//! that answers them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Waker};

use super::refusal::Refusal;

/// The state of one connection. Both ends run in its one task; the atomics only make that safe to say.
#[derive(Debug, Default)]
pub(super) struct Visit {
    /// A request is being answered, so that silence of the client is no idleness.
    answering: AtomicBool,
    /// Woken when the answer is over: hyper would not look for the next head before its first byte is there.
    idle: Mutex<Option<Waker>>,
    /// The connection speaks another protocol now.
    upgraded: AtomicBool,
    /// The head that the stream has replaced, because nobody should read it.
    bad_head: OnceLock<Refusal>,
}

impl Visit {
    /// Whether a request is being answered. If so, the task is woken when that is over.
    pub(super) fn is_answering(&self, cx: &Context<'_>) -> bool {
        let answering = self.answering.load(Ordering::Relaxed);
        if answering {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *idle {
                Some(waker) => waker.clone_from(cx.waker()),
                None => *idle = Some(cx.waker().clone()),
            }
        }
        answering
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
        let idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = idle {
            waker.wake();
        }
    }
}
