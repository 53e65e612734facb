//! Takes back a call that a crash interrupted between its changes, so that the vault is as it was before the call.
//!
//! The content that the call would have written is not recorded, but the content that it has overwritten is stored. So
//! such a call is not completed but taken back, and then it can be made again as a whole.

use std::cell::RefCell;

use envelope::{DataRef, EntryKind, Failure, Fault, VaultChange};

use super::restore::{RestoreChoices, plan_restore};
use crate::file_layer::{ContextAdapter, IoContext, PreparedSteps, Vault, WrittenFile};

/// Restores the state before these changes of one call, and returns true if the vault has that state again.
///
/// Returns false, with nothing changed, if an entry was edited since or a stored content is missing. Fails if a step
/// fails midway; the vault must then be compared with the intent again.
pub(super) fn roll_back(vault: &Vault, done: &[VaultChange], io: &dyn IoContext) -> Result<bool, Fault> {
    let inverse: Vec<VaultChange> = done.iter().rev().map(VaultChange::inverse).collect();
    // The call has just moved them, so what is in them needs no comparison.
    let moved: Vec<String> = inverse.iter().filter_map(uncompared_folder).collect();
    let choices = RestoreChoices { overwrite: &moved, ..RestoreChoices::default() };
    let plan = plan_restore(vault, &inverse, choices, io)?;
    let complete = plan.conflicts.is_empty() && plan.left.is_empty() && plan.missing.is_empty();
    if !complete || !done.iter().filter_map(overwritten).all(|content| is_stored(&content, io)) {
        return Ok(false);
    }
    let steps = PreparedSteps { steps: plan.steps };
    // Should this be interrupted too, the hidden copies that it leaves are copies of stored content.
    vault.store_overwritten(&steps, io)?;
    // What is taken back is no effect of the call, and half of it is worse than all or nothing.
    let unrecorded = ContextAdapter::new(io).recording(drop).uncancellable().beyond_intent();
    vault.apply(&steps, &unrecorded)?;
    Ok(true)
}

/// Applies all steps or none: if one fails, the steps before it are taken back. Changes that could not be taken back are
/// recorded. A cancelled call keeps what it has done, since the user may continue it.
pub(super) fn apply_or_roll_back(
    vault: &Vault,
    prepared: &PreparedSteps,
    io: &dyn IoContext,
) -> Result<Option<WrittenFile>, Fault> {
    // Held back until it is known whether they stay.
    let made = RefCell::new(Vec::new());
    let applied =
        vault.apply(prepared, &ContextAdapter::new(io).recording(|change| made.borrow_mut().push(change)));
    let made = made.into_inner();
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

/// Returns the folder that a change moves without a record of what is in it.
fn uncompared_folder(change: &VaultChange) -> Option<String> {
    match change {
        VaultChange::Moved { from, kind: EntryKind::Folder, kept, .. } if kept.is_empty() => {
            Some(from.clone())
        }
        VaultChange::Moved { .. }
        | VaultChange::FileReplaced { .. }
        | VaultChange::FileRemoved { .. }
        | VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::FileCreated { .. } => None,
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
