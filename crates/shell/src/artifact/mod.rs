//! `artifact.read`: reads the artifacts of calls page by page.
//!
//! An artifact can be larger than memory. It is read in blocks, never as a whole; a page has a limit of its own, and
//! the rest can be requested. This module does not write, and does not know paths of a vault.

mod args;
mod line_blocks;
mod head_tail;
mod grep;
mod matched_line;
mod reader;
mod past_runs;
mod line_positions;
mod read_artifact;
mod text_encoding;

use std::sync::Arc;

use toolkit::{RegistrationError, Registry};

pub use past_runs::PastRuns;

/// Registers `artifact.read`. Without `past` it reads the artifacts of its own run only.
pub fn register_artifact_read(
    registry: &mut Registry,
    past: Option<Arc<dyn PastRuns>>,
) -> Result<(), RegistrationError> {
    registry.register(read_artifact::ReadArtifact { past })
}

/// Limits of reads and results.
#[derive(Debug, Clone, Copy)]
struct ReadLimits {
    /// Bytes of one page.
    page: u64,
    /// The lines of an artifact up to this size are counted.
    counted: u64,
    /// Bytes that are searched at once. A longer line is searched in pieces of this length.
    block: usize,
    /// Bytes of a matching line that are returned.
    shown: usize,
}

const LIMITS: ReadLimits = ReadLimits { page: 256 << 10, counted: 64 << 20, block: 1 << 20, shown: 2 << 10 };

/// Called between two blocks. An error stops the read.
type ContinueCheck<'a> = &'a dyn Fn() -> Result<(), envelope::Fault>;

#[cfg(test)]
mod tests;
