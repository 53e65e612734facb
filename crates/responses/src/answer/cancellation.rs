//! The answers that are being written, so that clients can cancel them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::FinishedAnswer;

/// How long a cancelling client waits for the end of the answer, whose own reader may be slow.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

type AnswersById = Arc<Mutex<HashMap<String, RunningAnswer>>>;

#[derive(Default)]
pub(super) struct RunningAnswers(AnswersById);

struct RunningAnswer {
    cancel: watch::Sender<bool>,
    /// The response object of the cancelled answer.
    object: watch::Receiver<Option<String>>,
}

/// The answer was cancelled but did not end in time.
pub(super) struct CancelTimeout;

/// The entry of one answer; removed when dropped.
pub(super) struct CancelRegistration {
    id: String,
    running: AnswersById,
    signal: CancelSignal,
    object: watch::Sender<Option<String>>,
}

/// Tells an answer that it was cancelled.
#[derive(Clone)]
pub(super) struct CancelSignal(watch::Receiver<bool>);

impl CancelSignal {
    pub(super) fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the answer is cancelled.
    pub(super) async fn cancelled(&self) {
        if self.0.clone().wait_for(|cancelled| *cancelled).await.is_err() {
            // No one can cancel it any more.
            std::future::pending::<()>().await;
        }
    }
}

impl RunningAnswers {
    pub(super) fn register(&self, id: &str) -> CancelRegistration {
        let (cancel, signal) = watch::channel(false);
        let (object, receiver) = watch::channel(None);
        let answer = RunningAnswer { cancel, object: receiver };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), answer);
        CancelRegistration {
            id: id.to_owned(),
            running: self.0.clone(),
            signal: CancelSignal(signal),
            object,
        }
    }

    /// Cancels an answer and returns its object; `None` if it is not being written.
    pub(super) async fn cancel(&self, id: &str) -> Option<Result<String, CancelTimeout>> {
        let mut object = {
            let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = running.get(id)?;
            answer.cancel.send_replace(true);
            answer.object.clone()
        };
        let ended = tokio::time::timeout(CANCEL_WAIT, object.wait_for(Option::is_some)).await;
        Some(match ended {
            Ok(Ok(object)) => object.clone().ok_or(CancelTimeout),
            Ok(Err(_)) | Err(_) => Err(CancelTimeout),
        })
    }
}

impl CancelRegistration {
    pub(super) fn signal(&self) -> CancelSignal {
        self.signal.clone()
    }

    /// Gives the object of an ended answer to the clients that cancelled it.
    pub(super) fn finish(self, answered: Option<&FinishedAnswer>) {
        // Removed first: a client that cancels afterwards learns that the answer has ended, and does not wait for it.
        self.remove();
        if self.signal.is_cancelled()
            && let Some(answered) = answered
        {
            self.object.send_replace(Some(answered.response.object_json()));
        }
    }

    fn remove(&self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Drop for CancelRegistration {
    fn drop(&mut self) {
        self.remove();
    }
}
