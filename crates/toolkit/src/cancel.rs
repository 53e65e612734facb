//! The cancellation signal of a call.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

/// Reason why a call is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelCause {
    /// The run was cancelled.
    Run,
    /// A sibling call failed.
    Sibling,
    /// The deadline of the call has passed.
    Deadline,
}

/// Cancellation token of one call. The first cause is kept; later ones are ignored.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    cause: OnceLock<CancelCause>,
    /// Notified once, when the cause is set.
    waiting: Notify,
}

impl CancelToken {
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    pub fn cancel(&self, cause: CancelCause) {
        if self.0.cause.set(cause).is_ok() {
            self.0.waiting.notify_waiters();
        }
    }

    /// Returns the cause, if the call is cancelled. For checks between two awaits or on a blocking thread.
    pub fn cause(&self) -> Option<CancelCause> {
        self.0.cause.get().copied()
    }

    pub fn is_cancelled(&self) -> bool {
        self.cause().is_some()
    }

    /// Completes when the call is cancelled.
    pub async fn cancelled(&self) -> CancelCause {
        loop {
            // Registered before the cause is read, so that a cause set in between still wakes this future.
            let woken = self.0.waiting.notified();
            if let Some(cause) = self.cause() {
                return cause;
            }
            woken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::{CancelCause, CancelToken};

    #[tokio::test]
    async fn the_first_cause_stays_and_wakes_everyone_who_waits() {
        let token = CancelToken::new();
        assert_eq!((token.cause(), token.is_cancelled()), (None, false));
        let clone = token.clone();
        let (mut early, mut other) = (Box::pin(token.cancelled()), Box::pin(clone.cancelled()));
        assert!(std::future::poll_fn(|cx| Poll::Ready(early.as_mut().poll(cx).is_pending())).await);
        assert!(std::future::poll_fn(|cx| Poll::Ready(other.as_mut().poll(cx).is_pending())).await);
        clone.cancel(CancelCause::Sibling);
        token.cancel(CancelCause::Deadline);
        assert_eq!((early.await, other.await), (CancelCause::Sibling, CancelCause::Sibling));
        assert_eq!(clone.cancelled().await, CancelCause::Sibling);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_cause_comes_too_early_to_be_heard() {
        for _ in 0..2_000 {
            let token = CancelToken::new();
            let (waiting, from) = (token.clone(), token.clone());
            let heard = tokio::spawn(async move { waiting.cancelled().await });
            let said = tokio::spawn(async move { from.cancel(CancelCause::Run) });
            said.await.unwrap();
            assert_eq!(heard.await.unwrap(), CancelCause::Run);
        }
    }
}
