//! State that all clones of a call's dispatch share: the task that makes the call, and its result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::{ToolCall, ToolResult};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::scheduler::CallTicket;

/// Tasks that may be started for one call. Each one but the last was lost with its runtime.
const MAX_TASKS: u32 = 8;

/// Progress of a call whose dispatch may be run several times.
pub(crate) struct DispatchState {
    progress: Mutex<DispatchProgress>,
    /// Notified when the task stops, with or without a result.
    stopped: Notify,
}

struct DispatchProgress {
    stage: DispatchStage,
    /// Number of tasks that were started.
    tasks: u32,
    task: Option<AbortHandle>,
    /// Place in the order of the run, until the first task takes it.
    ticket: Option<CallTicket>,
    /// The call as it was last recorded, with its intent, by a task or a process that is gone.
    recorded: Option<Box<ToolCall>>,
    /// The result, if it is recorded.
    result: Option<Box<ToolResult>>,
}

#[derive(PartialEq, Eq)]
enum DispatchStage {
    /// No task makes the call.
    Idle,
    Running,
    Ended,
}

/// Work of the next task of a call.
pub(super) enum NextTask {
    /// Make the call: it is not recorded.
    Make(Option<CallTicket>),
    /// Settle the call: it is recorded and was interrupted.
    Settle(Box<ToolCall>),
    /// Wait until the result is durable: it is recorded.
    AwaitDurable(Box<ToolResult>),
    /// None: every task was lost.
    GiveUp,
}

impl DispatchState {
    pub(super) fn new(ticket: Option<CallTicket>, recorded: Option<ToolCall>) -> DispatchState {
        DispatchState {
            progress: Mutex::new(DispatchProgress {
                stage: DispatchStage::Idle,
                tasks: 0,
                task: None,
                ticket,
                recorded: recorded.map(Box::new),
                result: None,
            }),
            stopped: Notify::new(),
        }
    }

    /// Returns the work of the next task, or `None` if a task is running or the call has ended.
    pub(super) fn next_task(&self) -> Option<NextTask> {
        let mut progress = self.lock();
        if progress.stage != DispatchStage::Idle {
            return None;
        }
        progress.stage = DispatchStage::Running;
        progress.tasks += 1;
        Some(if progress.tasks > MAX_TASKS {
            NextTask::GiveUp
        } else if let Some(result) = &progress.result {
            NextTask::AwaitDurable(result.clone())
        } else if let Some(recorded) = &progress.recorded {
            NextTask::Settle(recorded.clone())
        } else {
            NextTask::Make(progress.ticket.take())
        })
    }

    pub(super) fn set_task(&self, task: AbortHandle) {
        self.lock().task = Some(task);
    }

    /// Ends the task: nobody is left who could ask for the result.
    pub(super) fn abandon(&self) {
        let task = self.lock().task.take();
        if let Some(task) = task {
            task.abort();
        }
    }

    /// Completes when no task is running.
    pub(super) async fn stopped(&self) {
        loop {
            // Registered before the stage is read, so that a task that stops in between still wakes this future.
            let stopped = self.stopped.notified();
            if self.lock().stage != DispatchStage::Running {
                return;
            }
            stopped.await;
        }
    }

    /// Returns the result if the call has ended: moved out for the only holder, which asks for it once.
    pub(super) fn result(&self, is_only_holder: bool) -> Option<ToolResult> {
        let mut progress = self.lock();
        if progress.stage != DispatchStage::Ended {
            return None;
        }
        if is_only_holder {
            progress.result.take().map(|result| *result)
        } else {
            progress.result.as_deref().cloned()
        }
    }

    /// Returns the result of a task that has panicked, if it is recorded.
    pub(super) fn recorded_result(&self) -> Option<ToolResult> {
        self.lock().result.as_deref().cloned()
    }

    pub(super) fn end(&self, result: ToolResult) {
        let mut progress = self.lock();
        progress.stage = DispatchStage::Ended;
        progress.result = Some(Box::new(result));
        (progress.recorded, progress.task) = (None, None);
        drop(progress);
        self.stopped.notify_waiters();
    }

    /// Keeps a call that was recorded, from a task that is dropped before its result.
    pub(crate) fn keep_call(&self, recorded: ToolCall) {
        self.lock().recorded = Some(Box::new(recorded));
    }

    /// Keeps a result that was recorded, from a task that is dropped before it returns the result.
    pub(crate) fn keep_result(&self, recorded: ToolResult) {
        self.lock().result = Some(Box::new(recorded));
    }

    fn lose_task(&self) {
        let mut progress = self.lock();
        if progress.stage == DispatchStage::Running {
            (progress.stage, progress.task) = (DispatchStage::Idle, None);
        }
        drop(progress);
        self.stopped.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, DispatchProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by the task of a call. If it is dropped without a result, the next dispatch starts another task.
pub(super) struct TaskGuard(pub(super) Arc<DispatchState>);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.lose_task();
    }
}

/// Hands a recorded result to the dispatch of its call if the task is dropped before it returns the result.
pub(crate) struct RecordedResult<'a> {
    pub(crate) dispatch: Option<&'a DispatchState>,
    pub(crate) result: &'a ToolResult,
}

impl RecordedResult<'_> {
    /// The task goes on and returns the result itself.
    pub(crate) fn disarm(mut self) {
        self.dispatch = None;
    }
}

impl Drop for RecordedResult<'_> {
    fn drop(&mut self) {
        if let Some(dispatch) = self.dispatch {
            dispatch.keep_result(self.result.clone());
        }
    }
}
