//! The signal that tells a tool to stop.

use std::sync::Arc;

use tokio::sync::watch;

/// Why a call is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelCause {
    /// The run was cancelled.
    Run,
    /// A sibling failed.
    Sibling,
    /// The call's time is up.
    Deadline,
}

/// One per call. The first cause stays; later ones change nothing.
#[derive(Debug, Clone)]
pub struct CancelToken(Arc<watch::Sender<Option<CancelCause>>>);

impl CancelToken {
    pub fn new() -> CancelToken {
        CancelToken(Arc::new(watch::Sender::new(None)))
    }

    pub fn cancel(&self, cause: CancelCause) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(cause);
            }
            first
        });
    }

    /// For work between two awaits, or on a blocking thread.
    pub fn cause(&self) -> Option<CancelCause> {
        *self.0.borrow()
    }

    pub fn is_cancelled(&self) -> bool {
        self.cause().is_some()
    }

    /// Ends when the call is asked to stop.
    pub async fn cancelled(&self) -> CancelCause {
        let mut receiver = self.0.subscribe();
        loop {
            if let Some(cause) = *receiver.borrow_and_update() {
                return cause;
            }
            // The sender lives in `self`, so the channel cannot close while we wait.
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Default for CancelToken {
    fn default() -> CancelToken {
        CancelToken::new()
    }
}
