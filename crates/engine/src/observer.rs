//! Whoever follows a run while it goes on: a terminal, a page, a test.

use envelope::{ExecutionEvent, ToolCall, ToolResult};

/// Told after the record was made, never before. Must not block.
pub trait Observer: Send + Sync {
    fn event(&self, event: &ExecutionEvent);
    /// A call as it stands in the record, with what it is about to change.
    fn call(&self, _call: &ToolCall) {}
    fn result(&self, result: &ToolResult);
}
