//! File work off the async threads, reported to the call and stopped with it.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envelope::{Change, DataRef, Failure, Fault};
use toolkit::{CancelCause, ToolCx};

use crate::sandbox::Witness;

/// A call as the file layer sees it.
pub(super) struct CallWitness {
    cx: ToolCx,
    abandoned: Arc<AtomicBool>,
    heeds_cancel: bool,
}

/// Set when the call's future is dropped: its thread goes on, but must begin nothing more.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs `work` on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&dyn Witness) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    on_thread(cx, true, work).await
}

/// [`blocking`] for finding out what an interrupted call did. That a call is to be stopped is no reason not
/// to know what it had done by then.
pub async fn finding_out<T: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&dyn Witness) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    on_thread(cx, false, work).await
}

async fn on_thread<T: Send + 'static>(
    cx: &ToolCx,
    heeds_cancel: bool,
    work: impl FnOnce(&dyn Witness) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let abandoned = Arc::new(AtomicBool::new(false));
    let _guard = AbandonOnDrop(abandoned.clone());
    let witness = CallWitness { cx: cx.clone(), abandoned, heeds_cancel };
    match tokio::task::spawn_blocking(move || work(&witness)).await {
        Ok(result) => result,
        Err(error) => Err(Fault::new(Failure::ExecutionFailed, format!("the file work broke off: {error}"))),
    }
}

impl Witness for CallWitness {
    fn saw(&self, change: Change) {
        self.cx.changed(change);
    }

    fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.cx.keep(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.cx.fetch(wanted, into)
    }

    fn is_held_to_intent(&self) -> bool {
        self.cx.is_held_to_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.cx.progress(done, Some(total), message);
    }

    fn may_go_on(&self) -> Result<(), Fault> {
        let stopped = |failure, why: &str| Err(Fault::new(failure, format!("stopped: {why}")));
        match self.cx.cancel().cause().filter(|_| self.heeds_cancel) {
            Some(CancelCause::Run) => stopped(Failure::Canceled, "the run was cancelled"),
            Some(CancelCause::Sibling) => stopped(Failure::SiblingCanceled, "a sibling failed"),
            Some(CancelCause::Deadline) => stopped(Failure::Timeout, "the time of the call is up"),
            None if self.abandoned.load(Ordering::Acquire) => {
                stopped(Failure::Canceled, "nobody waits for the call any more")
            }
            None => Ok(()),
        }
    }
}
