//! Hidden files that killed calls have left in the vault.

use std::io::Write;

use envelope::{DataRef, Failure, Fault, VaultChange};
use journal::RunFolder;
use vault::{IoContext, Vault};
pub use vault::{LeftoverKind, TempLeftover};

use crate::error::{AppError, ErrorKind};
use crate::vault_context::VaultContext;

/// Returns the hidden files of this program in the vault. With `remove`, removes those whose content is stored and
/// those that were never finished.
pub fn temp_leftovers(context: &VaultContext, remove: bool) -> Result<Vec<TempLeftover>, AppError> {
    let vault = Vault::open(&context.vault).map_err(|error| AppError::io("open the vault", error))?;
    // All runs of a vault share one store. Without a run, nothing is stored.
    let newest = context.runs()?.find("last").ok();
    let store = StoreContext { run: newest.and_then(|dir| RunFolder::open(&dir).ok()) };
    vault
        .temp_leftovers(remove, &store)
        .map_err(|fault| AppError::new(ErrorKind::Failed, "leftovers", fault.message))
}

/// Reads stored content, and makes no change.
struct StoreContext {
    run: Option<RunFolder>,
}

impl IoContext for StoreContext {
    fn record_change(&self, _change: VaultChange) {}

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        let missing = |why: String| Fault::new(Failure::NotFound, why);
        let run = self.run.as_ref().ok_or_else(|| missing("no run has stored anything".to_owned()))?;
        let bytes = run.object(wanted).map_err(|error| missing(error.to_string()))?;
        into.write_all(&bytes).map_err(|error| missing(error.to_string()))
    }
}
