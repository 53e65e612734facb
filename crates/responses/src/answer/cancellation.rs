//! The answers that are being written, so that clients can cancel them and a server that stops can end them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::FinishedAnswer;

/// How long a cancelling client waits for the end of the answer, whose own reader may be slow.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

type AnswersById = Arc<Mutex<HashMap<String, RunningAnswer>>>;

pub(super) struct RunningAnswers {
    by_id: AnswersById,
    /// Whether the server is stopping, so that every answer ends now.
    stopping: watch::Sender<bool>,
}

struct RunningAnswer {
    stop: watch::Sender<Option<StopCause>>,
    /// The response object of the cancelled answer.
    object: watch::Receiver<Option<String>>,
}

/// Who ends an answer before the model is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    /// A client cancelled it.
    Cancelled,
    ServerStopping,
}

/// The answer was cancelled but did not end in time.
pub(super) struct CancelTimeout;

/// The entry of one answer; removed when dropped.
pub(super) struct CancelRegistration {
    id: String,
    running: AnswersById,
    signal: StopSignal,
    object: watch::Sender<Option<String>>,
}

/// Tells an answer that it must end.
#[derive(Clone)]
pub(super) struct StopSignal(watch::Receiver<Option<StopCause>>);

impl StopSignal {
    /// Fails if the answer must end.
    pub(super) fn check(&self) -> Result<(), StopCause> {
        self.0.borrow().map_or(Ok(()), Err)
    }

    /// Waits until the answer must end.
    pub(super) async fn stopped(&self) -> StopCause {
        if let Ok(cause) = self.0.clone().wait_for(Option::is_some).await
            && let Some(cause) = *cause
        {
            return cause;
        }
        // No one can end it any more.
        std::future::pending().await
    }
}

impl Default for RunningAnswers {
    fn default() -> RunningAnswers {
        RunningAnswers { by_id: AnswersById::default(), stopping: watch::channel(false).0 }
    }
}

impl RunningAnswers {
    pub(super) fn register(&self, id: &str) -> CancelRegistration {
        let (object, receiver) = watch::channel(None);
        let mut running = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that `stop_all` sees this answer or this answer sees that the server is stopping.
        let cause = self.stopping.borrow().then_some(StopCause::ServerStopping);
        let (stop, signal) = watch::channel(cause);
        running.insert(id.to_owned(), RunningAnswer { stop, object: receiver });
        drop(running);
        CancelRegistration {
            id: id.to_owned(),
            running: self.by_id.clone(),
            signal: StopSignal(signal),
            object,
        }
    }

    /// Ends all answers as incomplete, also those that begin from now on.
    pub(super) fn stop_all(&self) {
        let running = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopping.send_replace(true);
        for answer in running.values() {
            // A client that cancelled its answer before gets that reason.
            answer.stop.send_if_modified(|cause| cause.replace(StopCause::ServerStopping).is_none());
        }
    }

    /// Waits until [`RunningAnswers::stop_all`] is called.
    pub(super) async fn stopping(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender is a field, so it outlives this.
        let _alive = stopping.wait_for(|stopping| *stopping).await.is_ok();
    }

    /// Cancels an answer and returns its object; `None` if it is not being written.
    pub(super) async fn cancel(&self, id: &str) -> Option<Result<String, CancelTimeout>> {
        let mut object = {
            let running = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = running.get(id)?;
            answer.stop.send_replace(Some(StopCause::Cancelled));
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
    pub(super) fn signal(&self) -> StopSignal {
        self.signal.clone()
    }

    /// Gives the object of an ended answer to the clients that cancelled it.
    pub(super) fn finish(self, answered: Option<&FinishedAnswer>) {
        // Removed first: a client that cancels afterwards learns that the answer has ended, and does not wait for it.
        self.remove();
        if self.signal.check() == Err(StopCause::Cancelled)
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
