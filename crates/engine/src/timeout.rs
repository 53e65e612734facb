//! Computes the timeout of a call and enforces it on the checks before the call. `phases/execute.rs` enforces it on the tool.

use std::future::Future;
use std::time::Duration;

use envelope::{Failure, Fault};
use toolkit::{CancelCause, RegisteredTool};

use crate::call::CallState;

/// Returns the timeout of a call in milliseconds: the plan's or the tool's, within the policy's limit.
pub(crate) fn call_limit(entry: &RegisteredTool, state: &CallState) -> u64 {
    state.call.timeout_ms.unwrap_or(entry.decl.timeout_ms).min(state.max_timeout_ms)
}

/// Waits for work that has no effect. It is dropped if the call is cancelled or its timeout is reached.
pub(crate) async fn with_timeout<T>(
    entry: &RegisteredTool,
    state: &CallState,
    look: impl Future<Output = T>,
) -> Result<T, Fault> {
    let limit = call_limit(entry, state);
    let name = &entry.decl.name;
    tokio::select! {
        biased;
        seen = look => Ok(seen),
        cause = state.cancel.cancelled() => Err(match cause {
            CancelCause::Sibling => {
                Fault::new(Failure::SiblingCanceled, format!("{name} was cancelled because a sibling failed"))
            }
            CancelCause::Run | CancelCause::Deadline => {
                Fault::new(Failure::Canceled, format!("{name} was cancelled before it did anything"))
            }
        }),
        () = tokio::time::sleep(Duration::from_millis(limit)) => {
            Err(Fault::new(Failure::Timeout, format!("{name} did not get ready within {limit} ms")).detail("timeoutMs", limit))
        }
    }
}
