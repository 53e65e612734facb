//! The interface to front ends that show a run in progress.

use envelope::{ExecutionEvent, ToolCall, ToolResult};

/// Receives events, calls and results after they were recorded, never before. Must not block.
pub trait Observer: Send + Sync {
    fn event(&self, event: &ExecutionEvent);
    /// A call as recorded, with the changes that it is about to make.
    fn call(&self, _call: &ToolCall) {}
    fn result(&self, result: &ToolResult);
}
