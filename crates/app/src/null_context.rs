//! The context of file reads that report nothing.

use envelope::{Fault, VaultChange};
use vault::IoContext;

/// Context of reads that report no change and are never cancelled.
pub(crate) struct NullContext;

impl IoContext for NullContext {
    fn record_change(&self, _change: VaultChange) {}

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }
}
