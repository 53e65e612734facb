//! A file that a call wrote beside its record because it is too large for a result.

use serde::{Deserialize, Serialize};

use crate::Hash;

/// Identity of an artifact; `verify` detects changes with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Relative to the folder of the run, such as `artifacts/build-stdout.log`.
    pub path: String,
    pub bytes: u64,
    pub hash: Hash,
}
