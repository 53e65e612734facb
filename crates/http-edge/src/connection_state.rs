//! State that the two ends of one connection share: the stream that reads request heads, and the service that answers
//! them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

use super::refusal::RefusalReason;

/// The state of one connection. Both ends run in the connection's task; the atomics only make it `Sync`.
#[derive(Debug, Default)]
pub(super) struct ConnectionState {
    /// A request is being answered, so the client is not idle.
    answering: AtomicBool,
    answer_ended: Notify,
    /// The connection was upgraded to another protocol.
    upgraded: AtomicBool,
    /// Why the stream replaced the last head.
    bad_head: OnceLock<RefusalReason>,
}

impl ConnectionState {
    pub(super) fn is_answering(&self) -> bool {
        self.answering.load(Ordering::Relaxed)
    }

    /// Waits until an answer has ended. An end before the call counts, once.
    pub(super) async fn answer_ended(&self) {
        self.answer_ended.notified().await;
    }

    pub(super) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Relaxed)
    }

    /// Makes the service answer the next request with this refusal.
    pub(super) fn set_bad_head(&self, reason: RefusalReason) {
        self.bad_head.get_or_init(|| reason);
    }

    pub(super) fn bad_head(&self) -> Option<RefusalReason> {
        self.bad_head.get().copied()
    }
}

/// Marks a connection as answering for as long as it lives: until the last byte of the answer is handed over.
pub(super) struct AnswerGuard(Arc<ConnectionState>);

impl AnswerGuard {
    pub(super) fn start(state: &Arc<ConnectionState>) -> AnswerGuard {
        state.answering.store(true, Ordering::Relaxed);
        AnswerGuard(state.clone())
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
        self.0.answer_ended.notify_one();
    }
}
