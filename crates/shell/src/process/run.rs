//! One command for one call: it ends in time, goes on as a background task, or is ended.

use std::time::Duration;

use envelope::Fault;
use tokio::time::timeout;
use toolkit::CancelToken;

use super::child::Running;
use super::finished::{Cause, End, Finished};
use super::job::Job;
use super::spawner::Spawner;
use super::tasks::{TaskId, Tasks};

/// What became of a command, as far as the call that started it is concerned.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ended by itself.
    Completed(Finished),
    /// It goes on as a background task.
    Promoted(TaskId),
    TimedOut(Finished),
    Cancelled(Finished),
    /// It printed more than it may.
    OutputLimit(Finished),
    /// It did not start, or what it printed could not be kept.
    Failed(Fault),
}

/// Starts a command and waits for it: until it ends, until its time is up, until the call is cancelled, or
/// until `yield_after` has passed and it becomes a background task.
pub async fn run(
    spawner: &Spawner,
    tasks: &Tasks,
    job: Job,
    yield_after: Option<Duration>,
    cancel: &CancelToken,
) -> Outcome {
    let grace = job.limits.grace;
    let running = match Running::start(spawner, job).await {
        Ok(running) => running,
        Err(fault) => return Outcome::Failed(fault),
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
            _cause = cancel.cancelled() => Some(running.stop(Cause::Cancelled, grace).await),
            ended = patience => ended,
        }
    };
    match ended {
        Some(end) => outcome(&end),
        None => Outcome::Promoted(tasks.promote(running)),
    }
}

fn outcome(end: &End) -> Outcome {
    match end.as_ref() {
        Err(fault) => Outcome::Failed(fault.clone()),
        Ok(finished) => {
            let finished = finished.clone();
            match finished.cause {
                Cause::Itself => Outcome::Completed(finished),
                Cause::TimedOut => Outcome::TimedOut(finished),
                // Nobody else can stop it before it is a task.
                Cause::Cancelled | Cause::Stopped => Outcome::Cancelled(finished),
                Cause::OutputLimit => Outcome::OutputLimit(finished),
            }
        }
    }
}
