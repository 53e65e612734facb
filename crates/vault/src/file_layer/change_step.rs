//! Steps of a change that is not made yet, each with the state that it replaces.
//!
//! Every tool that writes prepares steps, so a dry run, the recorded intent, a preview and the work itself all
//! have the same source.

use std::io::Write;
use std::sync::Arc;

use envelope::{DataRef, EntryKind, Fault, FileState, Hash, KeptEntry, VaultChange, VaultPath};

use super::io_context::IoContext;
use super::relocate::in_trash;

/// Mode of a new file if none is given; the system applies its mask.
pub(super) const DEFAULT_MODE: u32 = 0o644;

/// Content of a file to write.
#[derive(Debug, Clone)]
pub enum FileContent {
    Bytes(Arc<[u8]>),
    /// Stored by an earlier call; read in chunks when it is needed.
    Stored(DataRef),
}

impl FileContent {
    pub fn of(bytes: impl Into<Arc<[u8]>>) -> FileContent {
        FileContent::Bytes(bytes.into())
    }

    pub(super) fn write_to(&self, into: &mut dyn Write, io: &dyn IoContext) -> Result<(), Fault> {
        match self {
            FileContent::Bytes(bytes) => {
                into.write_all(bytes).map_err(|error| super::fault::from_io("write", "the file", &error))
            }
            FileContent::Stored(kept) => io.fetch(kept, into),
        }
    }

    /// Returns the state of a file with this content and the given mode.
    pub(crate) fn state(&self, mode: u32) -> FileState {
        match self {
            FileContent::Bytes(bytes) => FileState { hash: Hash::of(bytes), bytes: bytes.len() as u64, mode },
            FileContent::Stored(kept) => FileState { hash: kept.hash, bytes: kept.bytes, mode },
        }
    }
}

/// One step of a prepared change.
#[derive(Debug, Clone)]
pub enum ChangeStep {
    /// Creates a folder. The folder above it exists or is created by an earlier step. Without a mode, the
    /// system sets the permissions.
    MakeFolder { path: VaultPath, mode: Option<u32> },
    /// Creates a file where nothing is.
    CreateFile { path: VaultPath, content: FileContent, mode: Option<u32> },
    /// Replaces a file that is exactly `before`. The mode stays unless one is given.
    ReplaceFile { path: VaultPath, before: FileState, content: FileContent, mode: Option<u32> },
    /// Removes a file that is exactly `before`.
    RemoveFile { path: VaultPath, before: FileState },
    /// Removes an empty folder. The mode is recorded, so that undo creates the folder with it.
    RemoveFolder { path: VaultPath, mode: Option<u32> },
    /// Moves an entry to a path where nothing is.
    Move { from: VaultPath, to: VaultPath, kind: EntryKind, details: MoveDetails },
}

/// State of a moved entry, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct MoveDetails {
    /// State of the file; `None` for a folder or a link, and if it was not read.
    pub before: Option<FileState>,
    /// The file must still be in that state. Otherwise an edit moves with its file.
    pub must_match: bool,
    /// Entries that are stored before they go to the trash. For a folder that comes out of the trash: what was
    /// stored when it went there, so that another deletion finds out what was added since.
    pub backup: Vec<KeptEntry>,
}

impl ChangeStep {
    /// Returns a move of the entry that is there when the step is applied.
    pub fn move_entry(from: VaultPath, to: VaultPath, kind: EntryKind) -> ChangeStep {
        ChangeStep::Move { from, to, kind, details: MoveDetails::default() }
    }

    /// Returns the creation of a folder with the permissions that the system sets.
    pub fn create_folder(path: VaultPath) -> ChangeStep {
        ChangeStep::MakeFolder { path, mode: None }
    }

    /// Returns the change that this step makes.
    pub fn change(&self) -> VaultChange {
        match self {
            ChangeStep::MakeFolder { path, mode } => {
                VaultChange::FolderCreated { path: path.to_string(), mode: *mode }
            }
            ChangeStep::CreateFile { path, content, mode } => VaultChange::FileCreated {
                path: path.to_string(),
                after: content.state(mode.unwrap_or(DEFAULT_MODE)),
            },
            ChangeStep::ReplaceFile { path, before, content, mode } => VaultChange::FileReplaced {
                path: path.to_string(),
                before: *before,
                after: content.state(mode.unwrap_or(before.mode)),
            },
            ChangeStep::RemoveFile { path, before } => {
                VaultChange::FileRemoved { path: path.to_string(), before: *before }
            }
            ChangeStep::RemoveFolder { path, mode } => {
                VaultChange::FolderRemoved { path: path.to_string(), mode: *mode }
            }
            ChangeStep::Move { from, to, kind, details } => VaultChange::Moved {
                from: from.to_string(),
                to: to.to_string(),
                kind: *kind,
                state: details.before,
                kept: details.backup.clone(),
            },
        }
    }
}

/// The steps of one call.
#[derive(Debug, Clone, Default)]
pub struct PreparedSteps {
    pub steps: Vec<ChangeStep>,
}

impl PreparedSteps {
    /// Returns the changes that are recorded before the first step is applied.
    pub fn intent(&self) -> Vec<VaultChange> {
        self.steps.iter().map(ChangeStep::change).collect()
    }

    /// Returns the content that has to be stored before the first step, with the paths that it has then.
    pub(super) fn overwritten(&self) -> Vec<OverwrittenFile> {
        let mut moved: Vec<(&VaultPath, &VaultPath)> = Vec::new();
        let mut kept = Vec::new();
        for step in &self.steps {
            match step {
                ChangeStep::Move { from, to, details, .. } => {
                    let from_then = before_moves(from, &moved);
                    // The backup of an entry that comes out of the trash is stored already.
                    if in_trash(to) {
                        kept.extend(details.backup.iter().filter_map(|entry| trashed(&from_then, entry)));
                    }
                    moved.push((from, to));
                }
                ChangeStep::ReplaceFile { path, before, .. } => {
                    let path = before_moves(path, &moved);
                    kept.push(OverwrittenFile { path, before: *before, how: OverwriteKind::Replaced });
                }
                ChangeStep::RemoveFile { path, before } => {
                    let path = before_moves(path, &moved);
                    kept.push(OverwrittenFile { path, before: *before, how: OverwriteKind::Removed });
                }
                ChangeStep::MakeFolder { .. }
                | ChangeStep::CreateFile { .. }
                | ChangeStep::RemoveFolder { .. } => {}
            }
        }
        kept
    }
}

/// Content that has to be stored before a step.
pub(super) struct OverwrittenFile {
    pub(super) path: VaultPath,
    pub(super) before: FileState,
    pub(super) how: OverwriteKind,
}

pub(super) enum OverwriteKind {
    Replaced,
    Removed,
    /// Moved to the trash, where it is read again: content that cannot be stored now is stored then.
    Trashed,
}

fn trashed(from: &VaultPath, entry: &KeptEntry) -> Option<OverwrittenFile> {
    let before = entry.state?;
    match entry.path.as_str() {
        "" => Some(OverwrittenFile { path: from.clone(), before, how: OverwriteKind::Trashed }),
        below => {
            let path = VaultPath::parse_escaped(&format!("{from}/{below}")).ok()?;
            Some(OverwrittenFile { path, before, how: OverwriteKind::Removed })
        }
    }
}

/// Returns the path that an entry had before these moves.
fn before_moves(path: &VaultPath, moves: &[(&VaultPath, &VaultPath)]) -> VaultPath {
    let mut path = path.clone();
    for (from, to) in moves.iter().rev() {
        let rest = match path.as_str().strip_prefix(to.as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            Some(_) | None => continue,
        };
        if let Ok(before) = VaultPath::parse_escaped(&format!("{from}{rest}")) {
            path = before;
        }
    }
    path
}
