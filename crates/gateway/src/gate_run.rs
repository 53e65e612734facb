//! One run of calls that come one by one: whoever asked may go away at any moment, and every call must still end as
//! a recorded result and the record be closed.

mod open_runs;

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{Approver, SessionCall, SessionRun};
use envelope::{Failure, Fault, RunId, ToolName, ToolResult};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::RwLock;
use toolkit::{BoxFuture, CancelCause, CancelToken, ProgressSink};

use self::open_runs::{OpenRun, OpenRuns};

/// All the runs of a server: counted, and ended together.
#[derive(Default)]
pub struct Runs {
    open: OpenRuns,
    /// Ends every call, because the server stops.
    stop: CancelToken,
    /// Those that may still be open: whoever holds one may go on holding it when the server stops.
    kept: Mutex<Vec<Weak<Kept>>>,
}

impl Runs {
    /// Takes a run into care. It ends, in words for the record, as `ends` says when nobody holds it any more.
    pub fn keep(&self, session: SessionRun, ends: Ends) -> GateRun {
        let kept = Kept {
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
            // As often as the list would grow, so that it stays as long as there are runs.
            all.retain(|kept| kept.strong_count() > 0);
        }
        all.push(Arc::downgrade(&kept));
        drop(all);
        GateRun { kept }
    }

    /// Carries work to its end whoever waits for it: going away, or stopping the server, cancels it, and the server
    /// waits until it has ended. `None` if it crashed.
    pub fn carry<T: Send + 'static>(
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

    /// Lets something go on beside the calls that nobody waits for, until it ends or the server stops.
    pub(crate) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                _ = stop.cancelled() => {}
            }
        });
    }

    /// Waits until what was told of a run so far can be read from its record. At once for one that is not open here.
    pub(crate) async fn settled(&self, run: &str) {
        let open = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().filter_map(Weak::upgrade).find(|kept| kept.session.run_id().as_str() == run)
        };
        if let Some(kept) = open {
            // One that cannot be kept is read as far as it goes.
            let _incomplete = kept.session.journal().durable(u64::MAX).await;
        }
    }

    /// Fires when the server stops.
    pub(crate) fn stopping(&self) -> CancelToken {
        self.stop.clone()
    }

    /// Ends the calls that are under way, and those that still come. Each is recorded as cancelled.
    pub fn stop(&self) {
        self.stop.cancel(CancelCause::Run);
    }

    /// Stops, and waits until every record is closed. A run that takes longer than the limit is left open, as after
    /// a crash: resuming finds out what became of it.
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

/// How a run ends that nobody holds any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It was waited for: going away cuts it short.
    Cut,
    /// Nothing else ends it, so going away is how it ends well.
    Well,
}

/// One run of calls.
pub struct GateRun {
    kept: Arc<Kept>,
}

/// A call that wants to be made.
pub struct GateCall {
    pub tool: ToolName,
    pub args: Map<String, Value>,
    /// Who is asked about it, where that is not whoever answers for the engine.
    pub approver: Option<Arc<dyn Approver>>,
    pub progress: Option<ProgressSink>,
    pub cancel: CancelToken,
}

/// What lives until the last call has ended and the record is closed.
struct Kept {
    session: SessionRun,
    /// Read by each call, so that the record is closed only when none is under way.
    busy: RwLock<()>,
    /// Set by whoever closes the record first; the others leave it alone.
    closing: AtomicBool,
    stop: CancelToken,
    ends: Ends,
    /// The server waits for this. Let go of when the record is closed, or with the last who held the run.
    open: Mutex<Option<OpenRun>>,
}

impl GateRun {
    pub fn run_id(&self) -> &RunId {
        self.kept.session.run_id()
    }

    /// Makes a call, on whoever waits for it: another task would cost more than most calls. Dropping the future cancels
    /// it, and it still ends as a recorded result.
    pub fn call(&self, call: GateCall) -> impl Future<Output = Result<ToolResult, Fault>> + Send + use<> {
        let kept = self.kept.clone();
        let cancel = call.cancel.clone();
        let work: BoxFuture<'static, ToolResult> = Box::pin(async move { kept.call(call).await });
        Begun { work: Some(work), cancel }
    }

    /// Ends the run once no call is under way.
    pub fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        if self.kept.closing.swap(true, Ordering::AcqRel) {
            return Box::pin(async {});
        }
        let kept = self.kept.clone();
        // A task of its own, too: half a close would leave the record open for good.
        let closing = tokio::spawn(async move { kept.close(reason).await });
        Box::pin(async move {
            if closing.await.is_err() {
                tracing::error!("the record of a run could not be closed");
            }
        })
    }
}

impl Kept {
    async fn call(&self, call: GateCall) -> ToolResult {
        let GateCall { tool, args, approver, progress, cancel } = call;
        let _busy = self.busy.read().await;
        let made = SessionCall { tool, args, cancel: cancel.clone(), budget: None, approver, progress };
        let mut calling = pin!(self.session.call(made));
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

    /// How it ends when nobody says how.
    fn unheld(&self) -> Option<String> {
        match self.ends {
            Ends::Well => None,
            Ends::Cut if self.stop.is_cancelled() => Some("the server stopped".to_owned()),
            Ends::Cut => Some("the client went away".to_owned()),
        }
    }
}

impl Drop for GateRun {
    /// Whoever used it went away without a word.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.kept.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        let kept = self.kept.clone();
        runtime.spawn(async move { kept.close(kept.unheld()).await });
    }
}

/// A call on its way, driven by whoever waits for it.
struct Begun {
    /// Gone once it has ended.
    work: Option<BoxFuture<'static, ToolResult>>,
    cancel: CancelToken,
}

impl Future for Begun {
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

impl Drop for Begun {
    /// Whoever waited went away: what was begun must still end as a recorded result.
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        self.cancel.cancel(CancelCause::Run);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

fn crashed() -> Fault {
    let message = "the call crashed; nobody can tell whether it happened";
    Fault::new(Failure::ExecutionFailed, message).retryable(false)
}

/// Lets a call go on that nobody waits for now, though somebody may come back for it. Letting go of it cancels it.
pub(crate) fn unattended<T: Send + 'static>(
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

/// Cancels a call that nobody waits for any more. One that has ended does not notice.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelCause::Run);
    }
}
