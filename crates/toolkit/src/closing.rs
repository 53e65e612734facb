//! What lives on behind the calls of a run, such as background tasks, and has to end with it.

use std::collections::BTreeMap;

use envelope::{Artifact, RunId};

use crate::BoxFuture;

/// Ends what calls left running.
pub trait Closing: Send + Sync {
    /// Ends everything that calls of this run left, and says what it was. Comes back in bounded time.
    fn close<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Vec<Closed>>;
}

/// Something that was still running, or whose end nobody has asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// For the record: what it was and how it ended.
    pub message: String,
    /// What it left beside the record, complete now.
    pub artifacts: Vec<Artifact>,
    /// What it printed that nobody has asked for and no artifact holds, by stream.
    pub unread: BTreeMap<String, String>,
}
