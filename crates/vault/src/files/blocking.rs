//! Runs file work on blocking threads. The work reports to its call and stops when the call is cancelled.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envelope::{DataRef, Failure, Fault, VaultChange};
use toolkit::{CancelCause, ToolCx};

use crate::file_layer::IoContext;

/// The [`IoContext`] of a tool call.
pub(super) struct CallContext {
    cx: ToolCx,
    abandoned: Arc<AtomicBool>,
    heeds_cancel: bool,
}

/// Set when the future of the call is dropped: the thread may start no further step.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs `work` on a blocking thread.
pub async fn run_blocking<T: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&dyn IoContext) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    on_thread(cx, true, work).await
}

/// [`run_blocking`] without cancellation, to find out what an interrupted call did: the outcome has to be known
/// also if the call is to stop.
pub async fn run_blocking_uncancelled<T: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&dyn IoContext) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    on_thread(cx, false, work).await
}

async fn on_thread<T: Send + 'static>(
    cx: &ToolCx,
    heeds_cancel: bool,
    work: impl FnOnce(&dyn IoContext) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let abandoned = Arc::new(AtomicBool::new(false));
    let _guard = AbandonOnDrop(abandoned.clone());
    let io = CallContext { cx: cx.clone(), abandoned, heeds_cancel };
    match tokio::task::spawn_blocking(move || work(&io)).await {
        Ok(result) => result,
        Err(error) => {
            Err(Fault::new(Failure::ExecutionFailed, format!("the file operation failed: {error}")))
        }
    }
}

impl IoContext for CallContext {
    fn record_change(&self, change: VaultChange) {
        self.cx.changed(change);
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.cx.keep(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.cx.fetch(wanted, into)
    }

    fn must_match_intent(&self) -> bool {
        self.cx.is_held_to_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.cx.progress(done, Some(total), message);
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        let stopped = |failure, why: &str| Err(Fault::new(failure, format!("stopped: {why}")));
        match self.cx.cancel().cause().filter(|_| self.heeds_cancel) {
            Some(CancelCause::Run) => stopped(Failure::Canceled, "the run was cancelled"),
            Some(CancelCause::Sibling) => stopped(Failure::SiblingCanceled, "a sibling failed"),
            Some(CancelCause::Deadline) => stopped(Failure::Timeout, "the time of the call is up"),
            None if self.abandoned.load(Ordering::Acquire) => {
                stopped(Failure::Canceled, "no one is waiting for the call")
            }
            None => Ok(()),
        }
    }
}
