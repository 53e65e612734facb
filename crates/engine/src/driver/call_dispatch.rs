//! One call of a run, ready to be made by a driver.

use std::pin::pin;
use std::sync::Arc;

use envelope::{Failure, Fault, ToolCall, ToolResult};
use toolkit::CancelToken;

use super::dispatch_state::{DispatchState, NextTask, TaskGuard};
use crate::Engine;
use crate::call::CallControl;
use crate::engine::journal_fault;
use crate::panic_guard::catch_panic;
use crate::phases;
use crate::run_scope::RunScope;

/// A call that a driver dispatches.
///
/// [`CallDispatch::run`] makes the call once, however many clones are run. A driver that may lose an answer keeps a
/// clone and runs it: the call is made in one task, all clones wait for that task, and all get its recorded result.
#[derive(Clone)]
pub struct CallDispatch {
    engine: Engine,
    scope: Arc<RunScope>,
    call: ToolCall,
    cancel: CancelToken,
    budget: Option<u32>,
    state: Arc<DispatchHolder>,
}

/// The state as the clones hold it; the task holds the state itself. The task is aborted with the last clone.
struct DispatchHolder(Arc<DispatchState>);

impl Drop for DispatchHolder {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl CallDispatch {
    /// A call that was not recorded yet. Takes the next place in the order of the run, so that calls keep the order of
    /// the machine whichever of them is run first.
    pub(super) fn new(
        engine: &Engine,
        scope: &Arc<RunScope>,
        call: ToolCall,
        cancel: CancelToken,
        budget: Option<u32>,
    ) -> CallDispatch {
        let ticket = engine.inner.scheduler.ticket(&call.run_id);
        let state = Arc::new(DispatchState::new(Some(ticket), None));
        let (engine, scope) = (engine.clone(), scope.clone());
        CallDispatch { engine, scope, call, cancel, budget, state: Arc::new(DispatchHolder(state)) }
    }

    /// A call that is in the record of a resumed run, without a result.
    pub(super) fn recorded(
        engine: &Engine,
        scope: &Arc<RunScope>,
        call: ToolCall,
        cancel: CancelToken,
    ) -> CallDispatch {
        let state = Arc::new(DispatchState::new(None, Some(call.clone())));
        let (engine, scope) = (engine.clone(), scope.clone());
        CallDispatch { engine, scope, call, cancel, budget: None, state: Arc::new(DispatchHolder(state)) }
    }

    /// The call, with the id that every dispatch of it has.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Signal that ends this call: set when the run is cancelled.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Takes the call through the twelve phases and returns its recorded result. Never fails: a failure is a result.
    ///
    /// The phases run in a task of the tokio runtime on which the first clone is run. Dropping this future does not end
    /// the task while a clone is left: the next clone that is run waits for the same task, and meanwhile the call keeps
    /// its paths. When the last clone is dropped, or the runtime of the task is shut down, the call is interrupted as
    /// by a crash, except that a thread which the tool has started runs on. After such a shutdown, the next clone that
    /// is run settles the call if it was recorded, and makes it otherwise.
    pub async fn run(self) -> ToolResult {
        loop {
            if let Some(next) = self.state.0.next_task() {
                self.start(next);
            }
            self.state.0.stopped().await;
            // Clones are made from clones, so nobody can ask after the only one.
            if let Some(result) = self.state.0.result(Arc::strong_count(&self.state) == 1) {
                return result;
            }
        }
    }

    fn start(&self, next: NextTask) {
        let state = &self.state.0;
        if matches!(next, NextTask::GiveUp) {
            return state.end(failed_dispatch(
                &self.scope,
                &self.call,
                "every runtime that made it was shut down",
            ));
        }
        let guard = TaskGuard(state.clone());
        let (engine, scope, call, budget) =
            (self.engine.clone(), self.scope.clone(), self.call.clone(), self.budget);
        let control = CallControl { cancel: self.cancel.clone(), dispatch: Some(state.clone()) };
        let task = tokio::spawn(async move {
            let result = {
                // The journal is released before the result is handed over: the driver may be the last to hold it.
                let made = pin!(perform(next, engine, scope.clone(), call.clone(), control, budget));
                catch_panic(made).await
            };
            let result = result.unwrap_or_else(|panic| {
                guard.0.recorded_result().unwrap_or_else(|| failed_dispatch(&scope, &call, &panic))
            });
            drop(scope);
            guard.0.end(result);
        });
        state.set_task(task.abort_handle());
    }
}

/// Carries out the task of a call.
async fn perform(
    next: NextTask,
    engine: Engine,
    scope: Arc<RunScope>,
    call: ToolCall,
    control: CallControl,
    budget: Option<u32>,
) -> ToolResult {
    match next {
        NextTask::Make(ticket) => engine.run_in_order(&scope, call, control, budget, ticket).await,
        NextTask::Settle(recorded) => engine.settle_uncertain(&scope, *recorded, control).await,
        NextTask::AwaitDurable(mut result) => {
            if let Err(error) = scope.journal().durable(u64::MAX).await {
                phases::unrecorded(&mut result, &journal_fault(&error));
            }
            *result
        }
        NextTask::GiveUp => failed_dispatch(&scope, &call, "no task is left"),
    }
}

/// Returns the result of a call that cannot be followed any further. It is not recorded, so the run must end.
fn failed_dispatch(scope: &RunScope, call: &ToolCall, why: &str) -> ToolResult {
    scope.journal().report_loss(&format!("a call of {} was lost: {why}", call.tool));
    let fault = Fault::new(
        Failure::ExecutionFailed,
        format!("{} was lost, and it is unknown whether it happened: {why}", call.tool),
    )
    .hint("look at what it would have changed, then decide")
    .retryable(false)
    .detail("outcome", "unknown");
    phases::unrecorded_failure(call, &fault)
}
