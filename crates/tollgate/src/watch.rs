//! Follows a run: feeds the progress display and keeps the little that the summary shows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::Observer;
use envelope::{EventType, ExecutionEvent, Level, StepId, ToolResult};

use crate::progress::Progress;
use crate::screen;
use crate::visible::{one_line, short};

/// How many receipts of one step are shown; a loop over a thousand notes must not fill the screen.
const RECEIPTS_A_STEP: usize = 3;
const RECEIPT_CHARS: usize = 100;

pub(crate) struct Watcher {
    progress: Arc<Progress>,
    /// Whether the newest result is wanted whole; a copy of each would cost a long run dearly.
    keep_last: bool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    receipts: HashMap<StepId, Vec<String>>,
    last: Option<Box<ToolResult>>,
}

impl Watcher {
    pub(crate) fn of_run(progress: Arc<Progress>) -> Arc<Watcher> {
        Arc::new(Watcher { progress, keep_last: false, kept: Mutex::default() })
    }

    pub(crate) fn of_call(progress: Arc<Progress>) -> Arc<Watcher> {
        Arc::new(Watcher { progress, keep_last: true, kept: Mutex::default() })
    }

    /// The first lines of a step's receipts.
    pub(crate) fn receipts(&self, step: &StepId) -> Vec<String> {
        self.kept().receipts.get(step).cloned().unwrap_or_default()
    }

    /// The newest result: of a run with one call, its result.
    pub(crate) fn take_last(&self) -> Option<ToolResult> {
        self.kept().last.take().map(|result| *result)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watcher {
    fn event(&self, event: &ExecutionEvent) {
        self.progress.event(event);
        // What ended with the run and not with a call stands in no result.
        if event.level == Level::Warn
            && event.event_type == EventType::StepProgress
            && event.call_id.is_none()
        {
            screen::note(format_args!("note: {}", one_line(&event.message)));
        }
    }

    fn result(&self, result: &ToolResult) {
        let mut kept = self.kept();
        let receipts = kept.receipts.entry(result.step_id.clone()).or_default();
        if receipts.len() < RECEIPTS_A_STEP {
            let said = result.receipt.as_deref().or(result.user_message.as_deref()).unwrap_or_default();
            receipts.push(short(said.lines().next().unwrap_or_default(), RECEIPT_CHARS));
        }
        if self.keep_last {
            kept.last = Some(Box::new(result.clone()));
        }
    }
}
