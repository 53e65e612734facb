//! Cleanup of things that outlive the calls of a run, such as background tasks, and must end with the run.

use std::collections::BTreeMap;

use envelope::{Artifact, RunId};

use crate::BoxFuture;

/// Ends what the calls of a run left running.
pub trait RunCleanup: Send + Sync {
    /// Ends everything that calls of this run left running and returns a record for each. Completes in bounded
    /// time.
    fn close<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Vec<CleanupRecord>>;
}

/// Something that was still running at the end of the run, or whose end no call has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupRecord {
    /// For the journal: what it was and how it ended.
    pub message: String,
    /// Artifacts that it left, complete now.
    pub artifacts: Vec<Artifact>,
    /// Output by stream that no call has read and no artifact contains.
    pub unread: BTreeMap<String, String>,
}
