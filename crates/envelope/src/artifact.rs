//! A file that a call left beside its record because it is too large for a result.

use serde::{Deserialize, Serialize};

use crate::Hash;

/// What was written, so that `verify` can tell whether it still is what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Relative to the folder of the run, such as `artifacts/build-stdout.log`.
    pub path: String,
    pub bytes: u64,
    pub hash: Hash,
}
