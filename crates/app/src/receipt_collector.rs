//! Observer of a run that keeps what a summary shows of its results.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Observer;
use envelope::{CallId, ExecutionEvent, Status, StepId, ToolResult};

use crate::display_text::truncate_line;

/// Successful calls shown of one step; a loop over a thousand notes must not fill the screen.
const SUCCESSES_A_STEP: usize = 3;
/// Failed calls shown of one step. More of them matter, because each may need something else.
const FAILURES_A_STEP: usize = 20;
const RECEIPT_CHARS: usize = 100;
/// Items whose position is looked up. The results of later items are shown in the order in which they come.
const MAX_KNOWN_ITEMS: u64 = 10_000;

/// Collects the receipts of the first calls of each step and of those that failed and, for a single call, its whole result.
#[derive(Default)]
pub struct ReceiptCollector {
    /// True if the newest result is kept whole; copying each would be costly for a long run.
    keep_last: bool,
    collected: Mutex<CollectedReceipts>,
}

#[derive(Default)]
struct CollectedReceipts {
    steps: HashMap<StepId, StepReceipts>,
    last: Option<Box<ToolResult>>,
}

/// The receipts of one step by the position of the item, so that they do not depend on which call ended first.
#[derive(Default)]
struct StepReceipts {
    failed: BTreeMap<u64, String>,
    succeeded: BTreeMap<u64, String>,
    /// Positions by the id of the call, for each attempt as far as they were derived.
    positions: HashMap<u32, KnownPositions>,
    /// Calls whose position is not known.
    unplaced: u64,
}

#[derive(Default)]
struct KnownPositions {
    derived: u64,
    by_call: HashMap<CallId, u64>,
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

    /// Returns the first lines of a step's receipts: of the calls that failed, then of the first that succeeded, each in
    /// the order of the items. A call that succeeded when it was tried again has succeeded.
    pub fn receipts(&self, step: &StepId) -> Vec<String> {
        let collected = self.collected();
        let Some(receipts) = collected.steps.get(step) else { return Vec::new() };
        receipts.failed.values().chain(receipts.succeeded.values()).cloned().collect()
    }

    /// Takes the newest result; for a run with one call, its result.
    pub fn take_last(&self) -> Option<ToolResult> {
        self.collected().last.take().map(|result| *result)
    }

    fn collected(&self) -> MutexGuard<'_, CollectedReceipts> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StepReceipts {
    fn add(&mut self, result: &ToolResult) {
        let place = self.place(result);
        let position = place.unwrap_or_else(|| {
            self.unplaced += 1;
            MAX_KNOWN_ITEMS + self.unplaced
        });
        self.failed.remove(&position);
        let text = result.receipt.as_deref().or(result.user_message.as_deref()).unwrap_or_default();
        let line = truncate_line(text.lines().next().unwrap_or_default(), RECEIPT_CHARS);
        let (lines, limit) = match result.status {
            Status::Ok => (&mut self.succeeded, SUCCESSES_A_STEP),
            Status::Error | Status::Timeout | Status::Cancelled => (&mut self.failed, FAILURES_A_STEP),
            Status::Skipped => return,
        };
        lines.insert(position, line);
        if lines.len() > limit {
            lines.pop_last();
        }
    }

    /// Returns the position of the item that a result is about; 0 for a step without items. Positions are not in the
    /// result, but the id of a call is derived from its position.
    fn place(&mut self, result: &ToolResult) -> Option<u64> {
        let derive =
            |index: Option<u64>| CallId::derive(&result.run_id, &result.step_id, index, result.attempt);
        let known = self.positions.entry(result.attempt).or_default();
        if known.derived == 0 && derive(None) == result.call_id {
            return Some(0);
        }
        while !known.by_call.contains_key(&result.call_id) && known.derived < MAX_KNOWN_ITEMS {
            known.by_call.insert(derive(Some(known.derived)), known.derived);
            known.derived += 1;
        }
        known.by_call.get(&result.call_id).copied()
    }
}

impl Observer for ReceiptCollector {
    fn event(&self, _event: &ExecutionEvent) {}

    fn result(&self, result: &ToolResult) {
        let mut collected = self.collected();
        match collected.steps.get_mut(&result.step_id) {
            Some(receipts) => receipts.add(result),
            None => collected.steps.entry(result.step_id.clone()).or_default().add(result),
        }
        if self.keep_last {
            collected.last = Some(Box::new(result.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use envelope::{CallId, RunId, Status, StepId, ToolResult};
    use serde_json::json;

    use super::{Observer as _, ReceiptCollector};

    fn result(index: Option<u64>, attempt: u32, status: Status) -> ToolResult {
        let (run, step) = (RunId::parse("run").unwrap(), StepId::parse("make").unwrap());
        let id = CallId::derive(&run, &step, index, attempt);
        let mut result: ToolResult = serde_json::from_value(json!({
            "callId": id, "runId": run, "stepId": step, "tool": "vault.createFile", "attempt": attempt, "status": "ok",
            "ok": true, "startedAt": "2026-01-02T03:04:05Z", "endedAt": "2026-01-02T03:04:05Z", "durationMs": 0
        }))
        .unwrap();
        let item = index.map_or_else(String::new, |index| format!(" item {index}"));
        result.status = status;
        result.ok = status == Status::Ok;
        result.receipt = Some(format!("{status}{item} attempt {attempt}\nmore"));
        result
    }

    fn shown(results: &[ToolResult]) -> Vec<String> {
        let collector = ReceiptCollector::of_run();
        for result in results {
            collector.result(result);
        }
        collector.receipts(&StepId::parse("make").unwrap())
    }

    #[test]
    fn failures_come_first_and_the_order_of_the_results_does_not_matter() {
        let mut results: Vec<ToolResult> = (0..6).map(|at| result(Some(at), 1, Status::Ok)).collect();
        results[1] = result(Some(1), 1, Status::Error);
        results[4] = result(Some(4), 1, Status::Timeout);
        let expected = [
            "error item 1 attempt 1",
            "timeout item 4 attempt 1",
            "ok item 0 attempt 1",
            "ok item 2 attempt 1",
            "ok item 3 attempt 1",
        ];
        assert_eq!(shown(&results), expected);
        results.reverse();
        assert_eq!(shown(&results), expected);
    }

    #[test]
    fn an_item_that_was_tried_again_is_shown_once() {
        let results = [result(Some(3), 1, Status::Error), result(Some(3), 2, Status::Ok)];
        assert_eq!(shown(&results), ["ok item 3 attempt 2"]);
        let results = [result(None, 1, Status::Error), result(None, 2, Status::Error)];
        assert_eq!(shown(&results), ["error attempt 2"]);
    }

    #[test]
    fn a_long_loop_keeps_few_lines() {
        let results: Vec<ToolResult> = (0..200).map(|at| result(Some(at), 1, Status::Error)).collect();
        assert_eq!(shown(&results).len(), 20);
    }
}
