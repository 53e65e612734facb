//! Engines for new runs, and the check for changed settings before each call.

use std::sync::Arc;

use engine::Engine;

/// Makes an engine for one run. Background tasks of a run belong to its own engine and end with it; concurrent runs share
/// nothing.
pub type EngineFactory = Arc<dyn Fn() -> Result<Engine, String> + Send + Sync>;

/// Reloads the files that engines are made from if they changed. Costs a few system calls if nothing changed, and may
/// block briefly otherwise.
pub type ReloadCheck = Arc<dyn Fn() -> ReloadOutcome + Send + Sync>;

/// The result of a check for changed settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// Nothing changed.
    Same,
    /// New engines are made from other settings now.
    Changed,
    /// No engine can be made any more: open runs end, and the next call gets the reason as its error.
    Unusable,
}
