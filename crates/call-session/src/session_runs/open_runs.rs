//! Counter of open runs, so that a server that stops can wait for the last one.

use std::sync::Arc;

use tokio::sync::watch;

#[derive(Default)]
pub(super) struct OpenRuns(Arc<watch::Sender<usize>>);

impl OpenRuns {
    pub(super) fn one_more(&self) -> OpenRun {
        self.0.send_modify(|count| *count += 1);
        OpenRun(self.0.clone())
    }

    pub(super) fn count(&self) -> usize {
        *self.0.borrow()
    }

    pub(super) async fn all_ended(&self) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _none = self.0.subscribe().wait_for(|count| *count == 0).await.is_ok();
    }
}

/// Counts as one open run until it is dropped.
pub(super) struct OpenRun(Arc<watch::Sender<usize>>);

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
