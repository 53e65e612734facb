//! Whoever follows a run while it goes on: a terminal, a page, a test.

use envelope::{ExecutionEvent, ToolResult};

/// Told after the record was made, never before. Must not block.
pub trait Observer: Send + Sync {
    fn event(&self, event: &ExecutionEvent);
    fn result(&self, result: &ToolResult);
}
