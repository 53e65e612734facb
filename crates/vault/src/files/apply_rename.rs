//! Applies a rename: the move first, then the links.
//!
//! After the move, every link that still has the old name is broken, so neither cancellation nor a concurrent
//! edit of a note stops a rename. An edited note is read again and its links are rewritten in its new content;
//! after [`TRIES`] attempts the note is left unchanged and reported in the output. If the user approved the
//! exact content, a second attempt is not made. Only a failing disk ends a rename early.

use std::cell::Cell;
use std::collections::HashSet;

use envelope::{DataRef, Failure, Fault, FileState, VaultChange, VaultPath};

use super::link_updates::{LinkUpdate, LinkUpdates};
use crate::file_layer::{ChangeStep, ContextAdapter, FileContent, IoContext, PreparedSteps, Vault};
use notes::links::StaleLink;

/// Attempts for a note that another program saves each time.
const TRIES: u32 = 3;
/// Progress is reported above this number of files.
const QUIET: usize = 16;

/// Outcome of a rename.
#[derive(Default)]
pub(super) struct RenameOutcome {
    /// Final state of the renamed file.
    pub(super) state: Option<FileState>,
    pub(super) links: u64,
    /// Files that contain the updated links.
    pub(super) files: Vec<VaultPath>,
    /// Links that lead to no file after the rename.
    pub(super) left: Vec<(VaultPath, StaleLink)>,
    /// Files that could not be written, with the reason.
    pub(super) not_written: Vec<(VaultPath, String)>,
}

/// Applies the steps of a rename to `to`. The steps for the links come last.
pub(super) fn apply_rename(
    vault: &Vault,
    prepared: &PreparedSteps,
    to: &VaultPath,
    links: &LinkUpdates,
    io: &dyn IoContext,
) -> Result<RenameOutcome, Fault> {
    io.check_cancelled()?;
    let state = Cell::new(None);
    let record = |change: VaultChange| {
        if let Some(given) = state_given_to(to.as_str(), &change) {
            state.set(given);
        }
        io.record_change(change);
    };
    let io = &ContextAdapter::new(io).recording(record).uncancellable();
    let steps = prepared.steps.len().saturating_sub(links.files.len());
    make_move(vault, &prepared.steps[..steps], io)?;
    let mut made = RenameOutcome::default();
    let mut read_again = HashSet::new();
    for (number, file) in links.files.iter().enumerate() {
        match update(vault, links, file, io) {
            Ok(LinkUpdateOutcome::AsPrepared) => {
                made.links += file.links;
                made.files.push(file.path.clone());
            }
            Ok(LinkUpdateOutcome::LinkRewrite { links, left }) => {
                made.links += links;
                if links > 0 {
                    made.files.push(file.path.clone());
                }
                made.left.extend(left.into_iter().map(|left| (file.path.clone(), left)));
                read_again.insert(&file.path);
            }
            Err(fault) if fault.failure == Failure::ExecutionFailed => return Err(fault),
            Err(fault) => made.not_written.push((file.path.clone(), fault.message)),
        }
        if links.files.len() > QUIET && (number + 1) % QUIET == 0 {
            io.progress(number as u64 + 1, links.files.len() as u64, "updating links");
        }
    }
    let as_prepared = links.left.iter().filter(|(path, _)| !read_again.contains(path));
    made.left.extend(as_prepared.cloned());
    made.state = state.get();
    Ok(made)
}

/// Makes room and moves. If the move fails after the file at the target was removed, restores that file.
fn make_move(vault: &Vault, steps: &[ChangeStep], io: &dyn IoContext) -> Result<(), Fault> {
    let mut removed = None;
    for step in steps {
        if let Err(fault) = vault.apply_step(step, io) {
            if let Some((path, before)) = removed {
                let FileState { hash, bytes, mode } = before;
                let content = FileContent::Stored(DataRef { hash, bytes });
                // If this fails too, the record contains the removal, and undo restores the file.
                vault.apply_step(&ChangeStep::CreateFile { path, content, mode: Some(mode) }, io).ok();
            }
            return Err(fault);
        }
        if let ChangeStep::RemoveFile { path, before } = step {
            removed = Some((path.clone(), *before));
        }
    }
    Ok(())
}

/// How the links of a file were updated.
enum LinkUpdateOutcome {
    AsPrepared,
    /// The file had changed since the steps were prepared.
    LinkRewrite {
        links: u64,
        left: Vec<StaleLink>,
    },
}

fn update(
    vault: &Vault,
    links: &LinkUpdates,
    file: &LinkUpdate,
    io: &dyn IoContext,
) -> Result<LinkUpdateOutcome, Fault> {
    let Err(mut fault) = vault.apply_step(&file.step, io) else { return Ok(LinkUpdateOutcome::AsPrepared) };
    // The user approved other content than the edited note would get, so the note is left unchanged and reported.
    let tries = if io.must_match_intent() { 0 } else { TRIES };
    for _ in 0..tries {
        if fault.failure != Failure::Conflict {
            break;
        }
        let rewritten = links.rewrite_again(vault, file, io)?;
        let Some(file) = rewritten.file else {
            return Ok(LinkUpdateOutcome::LinkRewrite { links: 0, left: rewritten.left });
        };
        let step = PreparedSteps { steps: vec![file.step] };
        match vault.store_overwritten(&step, io).and_then(|()| vault.apply(&step, io)) {
            Ok(_) => return Ok(LinkUpdateOutcome::LinkRewrite { links: file.links, left: rewritten.left }),
            Err(again) => fault = again,
        }
    }
    Err(fault)
}

/// Returns the state that a change gives to the file at a path.
fn state_given_to(path: &str, change: &VaultChange) -> Option<Option<FileState>> {
    match change {
        VaultChange::Moved { to, state, .. } if to == path => Some(*state),
        VaultChange::FileReplaced { path: replaced, after, .. } if replaced == path => Some(Some(*after)),
        VaultChange::Moved { .. }
        | VaultChange::FileReplaced { .. }
        | VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::FileCreated { .. }
        | VaultChange::FileRemoved { .. } => None,
    }
}
