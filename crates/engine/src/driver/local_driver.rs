//! The local driver: one tokio task for each call, question and timer of a run.

use std::time::Duration;

use plan::MachineInput;
use tokio::task::JoinSet;

use super::plan_execution::{DriverAction, PlanExecution};
use super::run_request::{RunError, RunRequest};
use crate::{Engine, RunReport};

impl Engine {
    /// Runs a checked plan to its end: one confirmation, every call through the twelve phases, everything recorded.
    pub async fn run_plan(&self, request: RunRequest) -> Result<RunReport, RunError> {
        Ok(drive(PlanExecution::start(self, request).await?).await)
    }
}

/// Drives a run until it is finished.
pub(super) async fn drive(mut run: PlanExecution) -> RunReport {
    let cancel = run.cancel_signal().clone();
    let mut is_cancelled = false;
    let mut tasks = JoinSet::new();
    loop {
        for action in run.take_actions() {
            spawn(&mut tasks, action);
        }
        if run.is_finished() {
            break;
        }
        let input = tokio::select! {
            biased;
            () = cancel.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                MachineInput::CancelRequested { reason: "cancelled by the caller".to_owned() }
            }
            joined = tasks.join_next() => match joined {
                Some(Ok(input)) => input,
                // Our tasks catch the panics of tools and hooks. If one panics nevertheless, the run must still end.
                Some(Err(_)) | None => break,
            },
        };
        run.accept(input);
    }
    run.finish().await
}

fn spawn(tasks: &mut JoinSet<MachineInput>, action: DriverAction) {
    match action {
        DriverAction::Dispatch(call) => tasks.spawn(async move { MachineInput::Done(call.run().await) }),
        DriverAction::Confirm(question) => tasks.spawn(question.ask()),
        DriverAction::StartTimer { id, after_ms } => tasks.spawn(async move {
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            MachineInput::TimerFired(id)
        }),
    };
}
