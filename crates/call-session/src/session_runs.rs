//! Runs of calls that arrive one by one. The client can leave at any moment; every call still ends as a recorded result,
//! and the record is closed.

mod open_runs;

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{CallRequest, SessionRun};
use envelope::{Failure, Fault, RunId, ToolResult};
use tokio::runtime::Handle;
use tokio::sync::RwLock;
use toolkit::{BoxFuture, CancelCause, CancelToken};

use self::open_runs::{OpenRun, OpenRuns};

/// All runs of a server: counted, and ended together.
#[derive(Default)]
pub struct SessionRuns {
    open: OpenRuns,
    /// Cancels every call, because the server stops.
    stop: CancelToken,
    /// Runs that may still be open. A holder can keep one beyond the end of the server.
    kept: Mutex<Vec<Weak<OpenRecord>>>,
}

impl SessionRuns {
    /// Takes over a run. `ends` is the outcome in the record if every handle is dropped before the run is closed.
    pub fn add_run(&self, session: SessionRun, ends: RunEnding) -> SessionHandle {
        let kept = OpenRecord {
            session,
            busy: RwLock::new(()),
            closing: AtomicBool::new(false),
            stop: self.stop.clone(),
            ends,
            open: Mutex::new(Some(self.open.one_more())),
        };
        let kept = Arc::new(kept);
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == all.capacity() {
            // Cleaned whenever it would grow, so that its capacity follows the number of live runs.
            all.retain(|kept| kept.strong_count() > 0);
        }
        all.push(Arc::downgrade(&kept));
        drop(all);
        SessionHandle { kept }
    }

    /// Runs work to its end even if the caller drops the future: that, or stopping the server, cancels the work, and the
    /// server waits until it has ended. Returns `None` if the work panicked.
    pub fn run_to_end<T: Send + 'static>(
        &self,
        cancel: CancelToken,
        work: impl Future<Output = T> + Send + 'static,
    ) -> BoxFuture<'static, Option<T>> {
        let (open, stop) = (self.open.one_more(), self.stop.clone());
        let guard = CancelOnDrop(cancel.clone());
        let running = tokio::spawn(async move {
            let _counted = open;
            let mut work = pin!(work);
            tokio::select! {
                biased;
                done = &mut work => return done,
                cause = stop.cancelled() => cancel.cancel(cause),
            }
            work.await
        });
        Box::pin(async move {
            let done = running.await;
            drop(guard);
            done.ok()
        })
    }

    /// Spawns work that no call waits for. It is stopped when the server stops.
    pub fn spawn_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                _ = stop.cancelled() => {}
            }
        });
    }

    /// Waits until everything recorded of a run so far can be read from disk. Returns at once for a run that is not open
    /// here.
    pub async fn wait_until_durable(&self, run: &str) {
        let open = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().filter_map(Weak::upgrade).find(|kept| kept.session.run_id().as_str() == run)
        };
        if let Some(kept) = open {
            // A record that cannot be made durable is read as far as it goes.
            let _incomplete = kept.session.journal().durable(u64::MAX).await;
        }
    }

    /// Returns the token that is cancelled when the server stops.
    pub fn stopping(&self) -> CancelToken {
        self.stop.clone()
    }

    /// Cancels running calls and all later ones. Each is recorded as cancelled.
    pub fn stop(&self) {
        self.stop.cancel(CancelCause::Run);
    }

    /// Stops, and waits until every record is closed. A run that takes longer than the limit stays open, as after a crash;
    /// resuming it determines what happened.
    pub async fn finish(&self, limit: Duration) {
        self.stop();
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for kept in kept.iter().filter_map(Weak::upgrade) {
            if !kept.closing.swap(true, Ordering::AcqRel) {
                tokio::spawn(async move { kept.close(kept.unheld()).await });
            }
        }
        if tokio::time::timeout(limit, self.open.all_ended()).await.is_err() {
            tracing::error!(
                runs = self.open.count(),
                "runs of tools did not end in time; `tollgate resume` ends them"
            );
        }
    }
}

/// Outcome of a run whose last handle is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    /// The client was still waiting: the run is recorded as interrupted.
    Cut,
    /// Leaving is the normal end of this run.
    Well,
}

/// Handle of one run. Clones share the run.
pub struct SessionHandle {
    kept: Arc<OpenRecord>,
}

/// State that lives until the last call has ended and the record is closed.
struct OpenRecord {
    session: SessionRun,
    /// Read-locked by each call, so that the record is closed only when no call is running.
    busy: RwLock<()>,
    /// Set by the first closer; later ones do nothing.
    closing: AtomicBool,
    stop: CancelToken,
    ends: RunEnding,
    /// The server waits for this. Released when the record is closed or the last handle is dropped.
    open: Mutex<Option<OpenRun>>,
}

impl SessionHandle {
    pub fn run_id(&self) -> &RunId {
        self.kept.session.run_id()
    }

    /// Makes a call, polled by the caller because a task of its own would cost more than most calls. Dropping the future
    /// cancels the call, which still ends as a recorded result.
    pub fn call(&self, call: CallRequest) -> impl Future<Output = Result<ToolResult, Fault>> + Send + use<> {
        let kept = self.kept.clone();
        let cancel = call.cancel.clone();
        let work: BoxFuture<'static, ToolResult> = Box::pin(async move { kept.call(call).await });
        PendingCall { work: Some(work), cancel }
    }

    /// Closes the run once no call is running.
    pub fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        if self.kept.closing.swap(true, Ordering::AcqRel) {
            return Box::pin(async {});
        }
        let kept = self.kept.clone();
        // In a task of its own: half a close would leave the record open for good.
        let closing = tokio::spawn(async move { kept.close(reason).await });
        Box::pin(async move {
            if closing.await.is_err() {
                tracing::error!("the record of a run could not be closed");
            }
        })
    }
}

impl OpenRecord {
    async fn call(&self, call: CallRequest) -> ToolResult {
        let cancel = call.cancel.clone();
        let _busy = self.busy.read().await;
        let mut calling = pin!(self.session.call(call));
        tokio::select! {
            biased;
            result = &mut calling => return result,
            cause = self.stop.cancelled() => cancel.cancel(cause),
        }
        calling.await
    }

    async fn close(&self, reason: Option<String>) {
        let _alone = self.busy.write().await;
        let report = self.session.close(reason).await;
        match &report.journal_error {
            Some(error) => tracing::error!(run = %report.run_id, error, "the record of a run is incomplete"),
            None => {
                tracing::info!(run = %report.run_id, calls = report.steps.len(), "a run of tools has ended");
            }
        }
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns the outcome for a run that was never closed explicitly.
    fn unheld(&self) -> Option<String> {
        match self.ends {
            RunEnding::Well => None,
            RunEnding::Cut if self.stop.is_cancelled() => Some("the server stopped".to_owned()),
            RunEnding::Cut => Some("the client went away".to_owned()),
        }
    }
}

impl Drop for SessionHandle {
    /// The client left without closing the run.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.kept.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        let kept = self.kept.clone();
        runtime.spawn(async move { kept.close(kept.unheld()).await });
    }
}

/// A running call, polled by the caller.
struct PendingCall {
    /// `None` once the call has ended.
    work: Option<BoxFuture<'static, ToolResult>>,
    cancel: CancelToken,
}

impl Future for PendingCall {
    type Output = Result<ToolResult, Fault>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        let ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(_panic) => Err(crashed()),
        };
        self.work = None;
        Poll::Ready(ended)
    }
}

impl Drop for PendingCall {
    /// The caller is gone: a call that has begun must still end as a recorded result.
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        self.cancel.cancel(CancelCause::Run);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

fn crashed() -> Fault {
    let message = "the call crashed; it is unknown whether it happened";
    Fault::new(Failure::ExecutionFailed, message).retryable(false)
}

/// Runs a call in a task, for a client that may come back for the result. Dropping the returned future cancels it.
pub fn detach_task<T: Send + 'static>(
    work: BoxFuture<'static, T>,
    cancel: CancelToken,
) -> BoxFuture<'static, Result<T, Fault>> {
    let guard = CancelOnDrop(cancel);
    let running = tokio::spawn(work);
    Box::pin(async move {
        let done = running.await;
        drop(guard);
        done.map_err(|_panic| crashed())
    })
}

/// Cancels a call when its caller is dropped. Has no effect on a call that has ended.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelCause::Run);
    }
}
