//! How the file layer reports what it did, the moment it did it.

use envelope::{Fault, VaultPath};

/// One change that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    FolderCreated { path: VaultPath },
    FileCreated { path: VaultPath },
    FileReplaced { path: VaultPath, before_etag: String, after_etag: String },
}

/// Whoever asked for the work: hears of each change when it is seen, and can stop what has not begun.
///
/// A change is told before the next step is tried, so that a call that fails halfway still reports the
/// half that happened.
pub trait Witness {
    fn saw(&self, change: Change);

    /// Asked before each step that changes something, and between the pieces of a long read.
    fn may_go_on(&self) -> Result<(), Fault>;
}
