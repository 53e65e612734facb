//! Observes a run: feeds the progress display and collects the receipts of the summary.

use std::sync::Arc;

use app::ReceiptCollector;
use app::display_text::escape_line;
use engine::Observer;
use envelope::{EventLevel, EventType, ExecutionEvent, StepId, ToolResult};

use crate::progress::Progress;
use crate::screen;

/// The observer of a run at a terminal.
pub(crate) struct TerminalObserver {
    progress: Arc<Progress>,
    collector: ReceiptCollector,
}

impl TerminalObserver {
    pub(crate) fn of_run(progress: Arc<Progress>) -> Arc<TerminalObserver> {
        Arc::new(TerminalObserver { progress, collector: ReceiptCollector::of_run() })
    }

    pub(crate) fn of_call(progress: Arc<Progress>) -> Arc<TerminalObserver> {
        Arc::new(TerminalObserver { progress, collector: ReceiptCollector::of_call() })
    }

    /// The first lines of a step's receipts.
    pub(crate) fn receipts(&self, step: &StepId) -> Vec<String> {
        self.collector.receipts(step)
    }

    /// The newest result. In a run with one call, its result.
    pub(crate) fn take_last(&self) -> Option<ToolResult> {
        self.collector.take_last()
    }
}

impl Observer for TerminalObserver {
    fn event(&self, event: &ExecutionEvent) {
        self.progress.event(event);
        // A warning without a call is part of no result, so it is shown here.
        if event.level == EventLevel::Warn
            && event.event_type == EventType::StepProgress
            && event.call_id.is_none()
        {
            screen::notice(format_args!("note: {}", escape_line(&event.message)));
        }
    }

    fn result(&self, result: &ToolResult) {
        self.collector.result(result);
    }
}
