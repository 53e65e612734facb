//! `artifact.read`: what calls left beside their results, read piece by piece.
//!
//! An artifact can be larger than memory. It is read in blocks, never whole; a page has a bound of its own, and
//! what comes behind it can be asked for. Nothing here writes, and no path of a vault is understood.

mod args;
mod blocks;
mod ends;
mod grep;
mod hit;
mod pages;
mod past_runs;
mod place;
mod read;
mod text;
mod window;

use std::sync::Arc;

use toolkit::{Refused, Registry};

pub use past_runs::PastRuns;

/// Registers `artifact.read`. Without `past` it reads the artifacts of its own run only.
pub fn register_artifact_read(
    registry: &mut Registry,
    past: Option<Arc<dyn PastRuns>>,
) -> Result<(), Refused> {
    registry.register(read::ReadArtifact { past })
}

/// How much is read at once, and how much is told.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Bytes of one page.
    page: u64,
    /// The lines of an artifact up to this size are counted.
    counted: u64,
    /// What is searched at once. A longer line is searched in pieces of this length.
    block: usize,
    /// Bytes of a matching line that are shown.
    shown: usize,
}

const LIMITS: Limits = Limits { page: 256 << 10, counted: 64 << 20, block: 1 << 20, shown: 2 << 10 };

/// Asked between two blocks; an error ends the reading.
type GoOn<'a> = &'a dyn Fn() -> Result<(), envelope::Fault>;

#[cfg(test)]
mod tests;
