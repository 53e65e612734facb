//! Errors of the journal.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use envelope::{Hash, RunId};

use crate::problem::JournalProblem;

/// Every way the record of a run can fail.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "`{}` is a symbolic link or is behind one; runs are stored in real folders only. Replace the link by a folder, or set `state` in .tollgate/config.toml",
        path.display()
    )]
    Link { path: PathBuf },
    /// After a failed write or sync the state of the disk is unknown, so nothing more is written.
    #[error("the journal stopped after a failed write: {why}")]
    Stopped { why: Arc<str> },
    #[error("the journal is closed")]
    Closed,
    #[error("`{}` exists already; each run needs a folder of its own", path.display())]
    Exists { path: PathBuf },
    #[error("`{}` is in use by another process; wait until that run ends", path.display())]
    Locked { path: PathBuf },
    #[error("another prune of `{}` is running; wait until it ends", path.display())]
    PruneRunning { path: PathBuf },
    #[error("run {run} was continued or undone by run {by} in the meantime; `tollgate show {by}` shows it")]
    LinkedMeanwhile { run: RunId, by: RunId },
    #[error("run {run} was removed in the meantime; `tollgate runs` lists the runs that are left")]
    LinkedRunGone { run: RunId },
    #[error("`{}` is not a run: it has no run.json", path.display())]
    NotARun { path: PathBuf },
    #[error("`{}` is a run of another vault", path.display())]
    OtherVault { path: PathBuf },
    #[error("`{}` cannot be read: {why}", path.display())]
    BadHeader { path: PathBuf, why: String },
    #[error("the record of this run is damaged: {0}")]
    Damaged(Box<JournalProblem>),
    #[error("a record of {bytes} bytes is too large; the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("the record has no JSON form: {0}")]
    NotJson(serde_json::Error),
    #[error("the stored data {hash} is missing")]
    ObjectMissing { hash: Hash },
    #[error("the stored data {hash} was changed after it was stored")]
    ObjectChanged { hash: Hash },
    #[error("there is no artifact `{path}` in this run")]
    ArtifactMissing { path: String },
    #[error("the artifact `{path}` was changed after it was written")]
    ArtifactChanged { path: String },
    #[error("the recorded plan no longer passes its check: {why}")]
    PlanRejected { why: String },
}
