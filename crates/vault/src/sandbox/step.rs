//! A change to the vault before it is made: the steps in order, each with what it takes the place of.
//!
//! Every tool that writes prepares steps and hands them over. So what a dry run foretells, what is written
//! down before the effect, what a preview shows and what is done are one and the same thing.

use std::io::Write;
use std::sync::Arc;

use envelope::{Change, DataRef, EntryKind, Fault, FileState, Hash, KeptEntry, VaultPath};

use super::change::Witness;

/// What a new file gets where the process has no other opinion; the system takes its mask off.
pub(super) const DEFAULT_MODE: u32 = 0o644;

/// The content of a file that is to be written.
#[derive(Debug, Clone)]
pub enum Content {
    Bytes(Arc<[u8]>),
    /// Kept by an earlier call; fetched when it is needed, in pieces.
    Kept(DataRef),
}

impl Content {
    pub fn of(bytes: impl Into<Arc<[u8]>>) -> Content {
        Content::Bytes(bytes.into())
    }

    pub(super) fn write_to(&self, into: &mut dyn Write, witness: &dyn Witness) -> Result<(), Fault> {
        match self {
            Content::Bytes(bytes) => {
                into.write_all(bytes).map_err(|error| super::fault::from_io("write", "the file", &error))
            }
            Content::Kept(kept) => witness.fetch(kept, into),
        }
    }

    /// As a state with the given mode.
    pub(super) fn state(&self, mode: u32) -> FileState {
        match self {
            Content::Bytes(bytes) => FileState { hash: Hash::of(bytes), bytes: bytes.len() as u64, mode },
            Content::Kept(kept) => FileState { hash: kept.hash, bytes: kept.bytes, mode },
        }
    }
}

/// One step of a prepared change.
#[derive(Debug, Clone)]
pub enum Step {
    /// The folder above it is there or made by an earlier step. The system says what it may be used for unless a
    /// mode is given.
    MakeFolder { path: VaultPath, mode: Option<u32> },
    /// Nothing is there.
    CreateFile { path: VaultPath, content: Content, mode: Option<u32> },
    /// Exactly `before` is there. The mode stays unless one is given.
    ReplaceFile { path: VaultPath, before: FileState, content: Content, mode: Option<u32> },
    /// Exactly `before` is there.
    RemoveFile { path: VaultPath, before: FileState },
    /// It is empty by then. The mode is that which it has, for whoever makes it again.
    RemoveFolder { path: VaultPath, mode: Option<u32> },
    /// Nothing is at `to`.
    Move { from: VaultPath, to: VaultPath, kind: EntryKind, baggage: Baggage },
}

/// What goes along with a move, as far as it was looked at.
#[derive(Debug, Clone, Default)]
pub struct Baggage {
    /// What the file holds; absent for a folder and a link, and where nobody has looked.
    pub before: Option<FileState>,
    /// Whether it must still be that. If not, an edit moves with its file.
    pub exactly: bool,
    /// What is stored of it before it goes to the trash.
    pub kept: Vec<KeptEntry>,
}

impl Step {
    /// A move of whatever is there by then.
    pub fn moving(from: VaultPath, to: VaultPath, kind: EntryKind) -> Step {
        Step::Move { from, to, kind, baggage: Baggage::default() }
    }

    /// A new folder that may be used for what the system says.
    pub fn making_folder(path: VaultPath) -> Step {
        Step::MakeFolder { path, mode: None }
    }

    /// The change that this step makes.
    pub fn change(&self) -> Change {
        match self {
            Step::MakeFolder { path, mode } => Change::FolderCreated { path: path.to_string(), mode: *mode },
            Step::CreateFile { path, content, mode } => Change::FileCreated {
                path: path.to_string(),
                after: content.state(mode.unwrap_or(DEFAULT_MODE)),
            },
            Step::ReplaceFile { path, before, content, mode } => Change::FileReplaced {
                path: path.to_string(),
                before: *before,
                after: content.state(mode.unwrap_or(before.mode)),
            },
            Step::RemoveFile { path, before } => {
                Change::FileRemoved { path: path.to_string(), before: *before }
            }
            Step::RemoveFolder { path, mode } => {
                Change::FolderRemoved { path: path.to_string(), mode: *mode }
            }
            Step::Move { from, to, kind, baggage } => Change::Moved {
                from: from.to_string(),
                to: to.to_string(),
                kind: *kind,
                state: baggage.before,
                kept: baggage.kept.clone(),
            },
        }
    }
}

/// The steps of one call.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    pub steps: Vec<Step>,
}

impl Prepared {
    /// What is written down before anything is done.
    pub fn intent(&self) -> Vec<Change> {
        self.steps.iter().map(Step::change).collect()
    }

    /// What has to be kept before anything is done, at the paths that it has by then.
    pub(super) fn overwritten(&self) -> Vec<Overwritten> {
        let mut moved: Vec<(&VaultPath, &VaultPath)> = Vec::new();
        let mut kept = Vec::new();
        for step in &self.steps {
            match step {
                Step::Move { from, to, baggage, .. } => {
                    let from_then = before_moves(from, &moved);
                    kept.extend(baggage.kept.iter().filter_map(|entry| trashed(&from_then, entry)));
                    moved.push((from, to));
                }
                Step::ReplaceFile { path, before, .. } => {
                    let path = before_moves(path, &moved);
                    kept.push(Overwritten { path, before: *before, how: How::Replaced });
                }
                Step::RemoveFile { path, before } => {
                    let path = before_moves(path, &moved);
                    kept.push(Overwritten { path, before: *before, how: How::Removed });
                }
                Step::MakeFolder { .. } | Step::CreateFile { .. } | Step::RemoveFolder { .. } => {}
            }
        }
        kept
    }
}

/// Content that has to be kept before a step is taken.
pub(super) struct Overwritten {
    pub(super) path: VaultPath,
    pub(super) before: FileState,
    pub(super) how: How,
}

pub(super) enum How {
    Replaced,
    Removed,
    /// Into the trash, where it is looked at again: what cannot be kept now is kept then.
    Trashed,
}

fn trashed(from: &VaultPath, entry: &KeptEntry) -> Option<Overwritten> {
    let before = entry.state?;
    match entry.path.as_str() {
        "" => Some(Overwritten { path: from.clone(), before, how: How::Trashed }),
        below => {
            let path = VaultPath::parse(&format!("{from}/{below}")).ok()?;
            Some(Overwritten { path, before, how: How::Removed })
        }
    }
}

/// Where something was before these moves.
fn before_moves(path: &VaultPath, moves: &[(&VaultPath, &VaultPath)]) -> VaultPath {
    let mut path = path.clone();
    for (from, to) in moves.iter().rev() {
        let rest = match path.as_str().strip_prefix(to.as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            Some(_) | None => continue,
        };
        if let Ok(before) = VaultPath::parse(&format!("{from}{rest}")) {
            path = before;
        }
    }
    path
}
