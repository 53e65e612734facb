//! Observer of a run that keeps what a summary shows of its results.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Observer;
use envelope::{ExecutionEvent, StepId, ToolResult};

use crate::display_text::truncate_line;

/// Receipts shown of one step; a loop over a thousand notes must not fill the screen.
const RECEIPTS_A_STEP: usize = 3;
const RECEIPT_CHARS: usize = 100;

/// Collects the first receipts of each step and, for a single call, its whole result.
#[derive(Default)]
pub struct ReceiptCollector {
    /// True if the newest result is kept whole; copying each would be costly for a long run.
    keep_last: bool,
    collected: Mutex<CollectedReceipts>,
}

#[derive(Default)]
struct CollectedReceipts {
    receipts: HashMap<StepId, Vec<String>>,
    last: Option<Box<ToolResult>>,
}

impl ReceiptCollector {
    /// Creates a collector for a run.
    pub fn of_run() -> ReceiptCollector {
        ReceiptCollector::default()
    }

    /// Creates a collector for a single call, which also keeps its result.
    pub fn of_call() -> ReceiptCollector {
        ReceiptCollector { keep_last: true, collected: Mutex::default() }
    }

    /// Returns the first lines of a step's first receipts.
    pub fn receipts(&self, step: &StepId) -> Vec<String> {
        self.collected().receipts.get(step).cloned().unwrap_or_default()
    }

    /// Takes the newest result; for a run with one call, its result.
    pub fn take_last(&self) -> Option<ToolResult> {
        self.collected().last.take().map(|result| *result)
    }

    fn collected(&self) -> MutexGuard<'_, CollectedReceipts> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for ReceiptCollector {
    fn event(&self, _event: &ExecutionEvent) {}

    fn result(&self, result: &ToolResult) {
        let mut collected = self.collected();
        let receipts = collected.receipts.entry(result.step_id.clone()).or_default();
        if receipts.len() < RECEIPTS_A_STEP {
            let text = result.receipt.as_deref().or(result.user_message.as_deref()).unwrap_or_default();
            receipts.push(truncate_line(text.lines().next().unwrap_or_default(), RECEIPT_CHARS));
        }
        if self.keep_last {
            collected.last = Some(Box::new(result.clone()));
        }
    }
}
