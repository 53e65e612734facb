//! Making a rename: the move, and then every link, to the end.
//!
//! Once something has another name, each link that still has the old one is broken. So from the first step on
//! nothing stops a rename: not a call that is cancelled, and not a note that another program saves meanwhile.
//! Such a note is read again, its links are written anew in what it says by then, and only after several tries
//! is it left as it is and named; at once, where somebody has approved exactly what was to be written. What does
//! stop it is a disk that fails.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{Read, Write};

use envelope::{Change, DataRef, Failure, Fault, FileState, VaultPath};

use super::relink::{LinkFile, Relinked};
use crate::links::LeftBehind;
use crate::sandbox::{Content, Prepared, Step, Unstoppable, Vault, Witness};

/// How often a note is read again that is saved by another program each time.
const TRIES: u32 = 3;
/// More files than this are told as progress.
const QUIET: usize = 16;

/// What was done.
#[derive(Default)]
pub(super) struct Made {
    /// What the file that was renamed holds in the end.
    pub(super) state: Option<FileState>,
    pub(super) links: u64,
    /// The files that these links are in.
    pub(super) files: Vec<VaultPath>,
    /// Links that lead nowhere now.
    pub(super) left: Vec<(VaultPath, LeftBehind)>,
    /// Files that could not be written, and why.
    pub(super) not_written: Vec<(VaultPath, String)>,
}

/// Makes the steps of a rename to `to`; those for the links are the last ones.
pub(super) fn make(
    vault: &Vault,
    prepared: &Prepared,
    to: &VaultPath,
    links: &Relinked,
    witness: &dyn Witness,
) -> Result<Made, Fault> {
    witness.may_go_on()?;
    let witness = Noting { witness: Unstoppable(witness), to: to.as_str(), state: RefCell::default() };
    let steps = prepared.steps.len().saturating_sub(links.files.len());
    make_move(vault, &prepared.steps[..steps], &witness)?;
    let mut made = Made::default();
    let mut read_again = HashSet::new();
    for (number, file) in links.files.iter().enumerate() {
        match update(vault, links, file, &witness) {
            Ok(Updated::AsPrepared) => {
                made.links += file.links;
                made.files.push(file.path.clone());
            }
            Ok(Updated::Anew { links, left }) => {
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
            witness.progress(number as u64 + 1, links.files.len() as u64, "updating links");
        }
    }
    let as_prepared = links.left.iter().filter(|(path, _)| !read_again.contains(path));
    made.left.extend(as_prepared.cloned());
    made.state = witness.state.into_inner();
    Ok(made)
}

/// Makes room and moves. If the move fails when the file in its way is gone, that one comes back.
fn make_move(vault: &Vault, steps: &[Step], witness: &dyn Witness) -> Result<(), Fault> {
    let mut removed = None;
    for step in steps {
        if let Err(fault) = vault.apply_step(step, witness) {
            if let Some((path, before)) = removed {
                let FileState { hash, bytes, mode } = before;
                let content = Content::Kept(DataRef { hash, bytes });
                // Where even that fails, the record says that it was removed, and undo brings it back.
                vault.apply_step(&Step::CreateFile { path, content, mode: Some(mode) }, witness).ok();
            }
            return Err(fault);
        }
        if let Step::RemoveFile { path, before } = step {
            removed = Some((path.clone(), *before));
        }
    }
    Ok(())
}

/// How the links of a file were updated.
enum Updated {
    AsPrepared,
    /// The file had changed since.
    Anew {
        links: u64,
        left: Vec<LeftBehind>,
    },
}

fn update(vault: &Vault, links: &Relinked, file: &LinkFile, witness: &dyn Witness) -> Result<Updated, Fault> {
    let Err(mut fault) = vault.apply_step(&file.step, witness) else { return Ok(Updated::AsPrepared) };
    // A note that was edited since is not what somebody has approved, so it is left as it is and named.
    let tries = if witness.is_held_to_intent() { 0 } else { TRIES };
    for _ in 0..tries {
        if fault.failure != Failure::Conflict {
            break;
        }
        let anew = links.anew(vault, file, witness)?;
        let Some(file) = anew.file else { return Ok(Updated::Anew { links: 0, left: anew.left }) };
        let step = Prepared { steps: vec![file.step] };
        match vault.keep_overwritten(&step, witness).and_then(|()| vault.apply(&step, witness)) {
            Ok(_) => return Ok(Updated::Anew { links: file.links, left: anew.left }),
            Err(again) => fault = again,
        }
    }
    Err(fault)
}

/// Takes note of what the file that is renamed holds.
struct Noting<'a> {
    witness: Unstoppable<'a>,
    to: &'a str,
    state: RefCell<Option<FileState>>,
}

impl Witness for Noting<'_> {
    fn saw(&self, change: Change) {
        match &change {
            Change::Moved { to, state, .. } if to == self.to => *self.state.borrow_mut() = *state,
            Change::FileReplaced { path, after, .. } if path == self.to => {
                *self.state.borrow_mut() = Some(*after);
            }
            Change::Moved { .. }
            | Change::FileReplaced { .. }
            | Change::FolderCreated { .. }
            | Change::FolderRemoved { .. }
            | Change::FileCreated { .. }
            | Change::FileRemoved { .. } => {}
        }
        self.witness.saw(change);
    }

    fn may_go_on(&self) -> Result<(), Fault> {
        self.witness.may_go_on()
    }

    fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.witness.keep(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.witness.fetch(wanted, into)
    }

    fn is_held_to_intent(&self) -> bool {
        self.witness.is_held_to_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.witness.progress(done, total, message);
    }
}
