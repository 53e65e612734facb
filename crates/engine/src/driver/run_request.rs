//! The request to run a plan.

use std::sync::Arc;

use envelope::{RunId, SessionId};
use journal::{Continuation, JournalError, RunKind, RunsFolder};
use plan::CheckedPlan;
use toolkit::{CancelCause, CancelToken};

use crate::forecast::{ForecastCall, Forecaster};

/// Where the record of a run is kept.
pub enum RunPlace {
    /// A folder that holds one folder per run, and the vault that the run is for.
    Disk(RunsFolder),
    /// In memory; for embedding, measuring, and drivers that ship the record elsewhere.
    Memory,
}

impl RunPlace {
    /// Returns the largest time in the ids of the runs in the folder. A folder that cannot be listed counts as empty: the
    /// run is then refused when its own folder is created.
    pub(crate) fn newest_run_millis(&self) -> Option<u64> {
        match self {
            RunPlace::Disk(runs) => runs.newest_millis(),
            RunPlace::Memory => None,
        }
    }
}

/// A plan to be run.
pub struct RunRequest {
    pub plan: CheckedPlan,
    pub place: RunPlace,
    pub kind: RunKind,
    /// The runs that this one undoes.
    pub undoes: Vec<RunId>,
    /// The session that the run belongs to.
    pub session: Option<SessionId>,
    /// Whether the plan is asked about although the policy would let it run unasked.
    pub asks_always: bool,
    /// The run that this one continues: its calls are not made again.
    pub continues: Option<Continuation>,
    pub planner_version: Option<String>,
    pub cancel: RunCancel,
    /// Forecasts the plan if there is a question; an approval then covers exactly the forecast.
    pub forecaster: Option<Arc<dyn Forecaster>>,
    /// A forecast that was approved before, such as a saved preview: every call is held to it.
    pub approved: Option<Vec<ForecastCall>>,
    /// Tokens that each receipt may have, within the policy. Default: the budget of its family.
    pub budget: Option<u32>,
}

/// Signal that cancels a run from outside.
#[derive(Clone, Default)]
pub struct RunCancel(CancelToken);

impl RunCancel {
    pub fn new() -> RunCancel {
        RunCancel::default()
    }

    /// Ties the run to the call that started it: both end with the token.
    pub fn from_token(token: CancelToken) -> RunCancel {
        RunCancel(token)
    }

    pub fn cancel(&self) {
        self.0.cancel(CancelCause::Run);
    }

    /// Waits until the run is cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    pub(crate) fn token(&self) -> &CancelToken {
        &self.0
    }
}

/// Error of a run that could not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the record of the run cannot be started: {0}")]
    Journal(#[from] JournalError),
}
