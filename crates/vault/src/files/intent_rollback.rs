//! Takes back a call that a crash interrupted between its changes, so that the vault is as it was before the call.
//!
//! The content that the call would have written is not recorded, but the content that it has overwritten is stored. So
//! such a call is not completed but taken back, and then it can be made again as a whole.

use std::cell::RefCell;
use std::io::{Read, Write};

use envelope::{DataRef, Failure, Fault, VaultChange};

use super::restore::{RestoreChoices, plan_restore};
use crate::file_layer::{IoContext, PreparedSteps, Vault, WrittenFile};

/// Restores the state before these changes of one call, and returns true if the vault has that state again.
///
/// Returns false, with nothing changed, if an entry was edited since or a stored content is missing. Fails if a step
/// fails midway; the vault must then be compared with the intent again.
pub(super) fn roll_back(vault: &Vault, done: &[VaultChange], io: &dyn IoContext) -> Result<bool, Fault> {
    let inverse: Vec<VaultChange> = done.iter().rev().map(VaultChange::inverse).collect();
    let plan = plan_restore(vault, &inverse, RestoreChoices::default(), io)?;
    let complete = plan.conflicts.is_empty() && plan.left.is_empty() && plan.missing.is_empty();
    if !complete || !done.iter().filter_map(overwritten).all(|content| is_stored(&content, io)) {
        return Ok(false);
    }
    let steps = PreparedSteps { steps: plan.steps };
    // Should this be interrupted too, the hidden copies that it leaves are copies of stored content.
    vault.store_overwritten(&steps, io)?;
    vault.apply(&steps, &UnrecordedContext(io))?;
    Ok(true)
}

/// Applies all steps or none: if one fails, the steps before it are taken back. Changes that could not be taken back are
/// recorded. A cancelled call keeps what it has done, since the user may continue it.
pub(super) fn apply_or_roll_back(
    vault: &Vault,
    prepared: &PreparedSteps,
    io: &dyn IoContext,
) -> Result<Option<WrittenFile>, Fault> {
    let recorder = DelayedRecorder { io, changes: RefCell::default() };
    let applied = vault.apply(prepared, &recorder);
    let made = recorder.changes.into_inner();
    let fault = match applied {
        Ok(written) => {
            made.into_iter().for_each(|change| io.record_change(change));
            return Ok(written);
        }
        Err(fault) => fault,
    };
    let stopped = matches!(fault.failure, Failure::Canceled | Failure::Timeout);
    // Should the rollback fail midway, the record names every change: an undo finds out which of them are left.
    if stopped || made.is_empty() || !roll_back(vault, &made, io).unwrap_or(false) {
        made.into_iter().for_each(|change| io.record_change(change));
        return Err(fault);
    }
    let message = format!("nothing was restored: {}", fault.message);
    Err(Fault { message, ..fault })
}

/// Holds the changes back until it is known whether they stay.
struct DelayedRecorder<'a> {
    io: &'a dyn IoContext,
    changes: RefCell<Vec<VaultChange>>,
}

impl IoContext for DelayedRecorder<'_> {
    fn record_change(&self, change: VaultChange) {
        self.changes.borrow_mut().push(change);
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        self.io.check_cancelled()
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.io.store(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.io.fetch(wanted, into)
    }

    fn must_match_intent(&self) -> bool {
        self.io.must_match_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.io.progress(done, total, message);
    }
}

/// Returns the content that a change has removed from the vault.
fn overwritten(change: &VaultChange) -> Option<DataRef> {
    match change {
        VaultChange::FileReplaced { before, .. } | VaultChange::FileRemoved { before, .. } => {
            Some(DataRef { hash: before.hash, bytes: before.bytes })
        }
        VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::FileCreated { .. }
        | VaultChange::Moved { .. } => None,
    }
}

fn is_stored(content: &DataRef, io: &dyn IoContext) -> bool {
    io.fetch(content, &mut std::io::sink()).is_ok()
}

/// Passes everything on but the changes and the cancellation: a change that is taken back does not count as an effect of the call, and half of
/// it is worse than all or nothing.
struct UnrecordedContext<'a>(&'a dyn IoContext);

impl IoContext for UnrecordedContext<'_> {
    fn record_change(&self, _change: VaultChange) {}

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.0.store(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.0.fetch(wanted, into)
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.0.progress(done, total, message);
    }
}
