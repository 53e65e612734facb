//! The answers that are being written, so that one can be cancelled from outside.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::sync::oneshot;

use super::Answered;

/// How long whoever cancels waits for the end. The one who reads the answer may be slow to take it.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Running(Arc<Mutex<HashMap<String, Entry>>>);

struct Entry {
    stop: Heard,
    /// Whoever waits for the object.
    waiting: Vec<oneshot::Sender<String>>,
}

/// The answer will end, but not while somebody waits for it here.
pub(super) struct TooSlow;

/// One answer's place in the list; leaves it when dropped.
pub(super) struct Stop {
    /// Gone when it has left.
    id: Option<String>,
    running: Arc<Mutex<HashMap<String, Entry>>>,
    heard: Heard,
}

/// Whether an answer is to end. Looked at with every event, so that a look costs next to nothing.
#[derive(Clone, Default)]
pub(super) struct Heard(Arc<Signal>);

#[derive(Default)]
struct Signal {
    said: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Heard {
    pub(super) fn is_said(&self) -> bool {
        self.0.said.load(Ordering::Acquire)
    }

    /// Comes back when the answer is to end.
    pub(super) async fn said(&self) {
        std::future::poll_fn(|cx| {
            // Under the lock, so that whoever says it either is seen here or sees the waker.
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if self.is_said() {
                return Poll::Ready(());
            }
            match &mut *waiting {
                Some(waker) => waker.clone_from(cx.waker()),
                None => *waiting = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
        .await;
    }

    fn say(&self) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.said.store(true, Ordering::Release);
        if let Some(waker) = waiting.take() {
            waker.wake();
        }
    }
}

impl Running {
    pub(super) fn begin(&self, id: &str) -> Stop {
        let heard = Heard::default();
        let entry = Entry { stop: heard.clone(), waiting: Vec::new() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), entry);
        Stop { id: Some(id.to_owned()), running: self.0.clone(), heard }
    }

    /// The object of the cancelled answer; nothing when none is being written.
    pub(super) async fn cancel(&self, id: &str) -> Option<Result<String, TooSlow>> {
        let (tell, told) = oneshot::channel();
        {
            let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = running.get_mut(id)?;
            entry.waiting.push(tell);
            entry.stop.say();
        }
        Some(match tokio::time::timeout(PATIENCE, told).await {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(_)) | Err(_) => Err(TooSlow),
        })
    }
}

impl Stop {
    /// Turns true when the answer is to end.
    pub(super) fn heard(&self) -> Heard {
        self.heard.clone()
    }

    pub(super) fn ended(mut self, answered: Option<&Answered>) {
        let entry = self.leave();
        let (Some(entry), Some(answered)) = (entry, answered) else { return };
        if entry.waiting.is_empty() {
            return;
        }
        let object = String::from_utf8_lossy(&answered.ended.object_json()).into_owned();
        for waiting in entry.waiting {
            // Whoever asked may be gone.
            let _unheard = waiting.send(object.clone());
        }
    }

    /// Its place in the list, which it has no more.
    fn leave(&mut self) -> Option<Entry> {
        let id = self.id.take()?;
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.leave();
    }
}
