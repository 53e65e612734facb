//! Executor of one command for one call: the command ends in time, continues as a background task, or is ended.

use std::time::Duration;

use envelope::Fault;
use tokio::time::timeout;
use toolkit::CancelToken;

use super::command_job::CommandJob;
use super::finished_command::{CommandEnd, EndCause, FinishedCommand};
use super::running_command::RunningCommand;
use super::spawner::CommandSpawner;
use super::task_registry::{TaskId, TaskRegistry};

/// Outcome of a command for the call that started it.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandOutcome {
    /// It exited.
    Completed(FinishedCommand),
    /// It continues as a background task.
    Promoted(TaskId),
    TimedOut(FinishedCommand),
    Cancelled(FinishedCommand),
    /// It exceeded its output limit.
    OutputLimit(FinishedCommand),
    /// It did not start, or its output could not be stored.
    Failed(Fault),
}

/// Starts a command and waits until it ends, until its timeout passes, until the call is cancelled, or until
/// `yield_after` has passed and it becomes a background task.
pub async fn run_command(
    spawner: &CommandSpawner,
    tasks: &TaskRegistry,
    job: CommandJob,
    yield_after: Option<Duration>,
    cancel: &CancelToken,
) -> CommandOutcome {
    let grace = job.limits.grace;
    let running = match RunningCommand::start(spawner, job).await {
        Ok(running) => running,
        Err(fault) => return CommandOutcome::Failed(fault),
    };
    let ended = {
        let patience = async {
            match yield_after {
                Some(span) => timeout(span, running.ended()).await.ok(),
                None => Some(running.ended().await),
            }
        };
        tokio::select! {
            biased;
            _cause = cancel.cancelled() => Some(running.stop(EndCause::Cancelled, grace).await),
            ended = patience => ended,
        }
    };
    match ended {
        Some(end) => outcome(&end),
        None => CommandOutcome::Promoted(tasks.promote(running)),
    }
}

fn outcome(end: &CommandEnd) -> CommandOutcome {
    match end.as_ref() {
        Err(fault) => CommandOutcome::Failed(fault.clone()),
        Ok(finished) => {
            let finished = finished.clone();
            match finished.cause {
                EndCause::Exited => CommandOutcome::Completed(finished),
                EndCause::TimedOut => CommandOutcome::TimedOut(finished),
                // Only the call can stop it before it is a task.
                EndCause::Cancelled | EndCause::Stopped => CommandOutcome::Cancelled(finished),
                EndCause::OutputLimit => CommandOutcome::OutputLimit(finished),
            }
        }
    }
}
