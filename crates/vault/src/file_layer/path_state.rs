//! State of a path: what is there, with its content by hash, and which folders above it are missing.
//!
//! Tools prepare their steps from it, and reconciliation after a crash tells an effect from its absence by it.

use std::io::Read as _;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, FileState, Hash, VaultPath};
use rustix::io::Errno;

use super::change_step::FileContent;
use super::fault;
use super::folder::{self, NodeKind};
use super::io_context::IoContext;
use super::locate::{FinalLink, Location, child};
use super::make_folder::paths_of;
use super::name_collisions::{colliding_name, colliding_names};
use super::read::{OpenedFile, open_place};
use super::relocate::{TRASH, in_trash};
use super::replace::no_longer_exists;
use super::vault::Vault;
use crate::platform::FileStat;

/// Current state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathState {
    Missing,
    Folder,
    File {
        state: FileState,
        mtime_ms: i64,
    },
    /// A pipe, a device, or a dangling link.
    Other,
}

/// A path resolved on disk, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Missing folders above it, outermost first.
    pub missing_folders: Vec<VaultPath>,
    /// As spelled on disk, with links resolved; the path that it would get if it is missing.
    pub path: VaultPath,
    pub state: PathState,
}

impl Vault {
    /// Returns the state at `path`, with links followed.
    pub fn path_state(&self, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        self.resolve_path(path, io).map(|resolved| resolved.state)
    }

    /// [`Vault::path_state`] with the resolved path. The content is hashed whatever its size.
    pub fn resolve_path(&self, path: &VaultPath, io: &dyn IoContext) -> Result<ResolvedPath, Fault> {
        self.files.resolve_path(self, path, io)
    }

    /// Returns the state on disk, or the unsaved text of a host. Ignores the overlay.
    pub(super) fn resolve_without_overlay(
        &self,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<ResolvedPath, Fault> {
        let mut resolved = self.resolve_on_disk(path, io)?;
        let unsaved = self.unsaved_text(&resolved.path)?;
        // Unsaved text in a host is the current content.
        if let (Some(text), PathState::File { state, .. }) = (unsaved, &mut resolved.state) {
            *state = FileContent::of(text.into_bytes()).state(state.mode);
        }
        Ok(resolved)
    }

    /// Returns the state of the entry itself, also in the trash. A link is not followed and counts as `Other`.
    pub(crate) fn entry_state(&self, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        self.files.entry_state(self, path, io)
    }

    pub(super) fn entry_state_on_disk(
        &self,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<PathState, Fault> {
        // The trash itself is created and removed by steps, although no path argument may name it.
        if path.as_str() == TRASH {
            return Ok(match folder::stat(&self.root, TRASH).map(|stat| folder::kind(&stat)) {
                Ok(NodeKind::Folder) => PathState::Folder,
                Ok(NodeKind::File | NodeKind::Link | NodeKind::Other) => PathState::Other,
                Err(Errno::NOENT) => PathState::Missing,
                Err(error) => return Err(fault::from_errno("look up", TRASH, error)),
            });
        }
        let Some(located) = self.locate_entry(path)? else { return Ok(PathState::Missing) };
        match located.kind() {
            NodeKind::Folder => Ok(PathState::Folder),
            NodeKind::Link | NodeKind::Other => Ok(PathState::Other),
            NodeKind::File => match open_place(located)? {
                Some(open) => {
                    let mtime_ms = open.stat.mtime_ms();
                    Ok(PathState::File { state: state_of(&open, io)?, mtime_ms })
                }
                None => Ok(PathState::Other),
            },
        }
    }

    pub(super) fn resolve_on_disk(
        &self,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<ResolvedPath, Fault> {
        let here = |path: VaultPath, seen| ResolvedPath { missing_folders: Vec::new(), path, state: seen };
        let located = match self.locate(path, FinalLink::Follow) {
            Ok(Location::Found(located)) => located,
            Ok(Location::Missing(missing_path)) => {
                let mut missing = paths_of(&missing_path)?;
                let path = missing.pop().unwrap_or_else(|| path.clone());
                return Ok(ResolvedPath { missing_folders: missing, path, state: PathState::Missing });
            }
            // A dangling link.
            Err(fault) if fault.failure == Failure::NotFound => {
                return Ok(here(path.clone(), PathState::Other));
            }
            Err(fault) => return Err(fault),
        };
        match located.kind() {
            NodeKind::Folder => Ok(here(located.path, PathState::Folder)),
            NodeKind::File => {
                let open = self.open_file(path)?;
                let mtime_ms = open.stat.mtime_ms();
                let state = state_of(&open, io)?;
                Ok(here(open.path, PathState::File { state, mtime_ms }))
            }
            NodeKind::Link | NodeKind::Other => Ok(here(located.path, PathState::Other)),
        }
    }
}

impl Vault {
    /// Returns the state of the entry itself, also of the trash. Links are not followed. For an open note it is
    /// the text that the host shows, saved or not.
    pub(crate) fn entry_at(&self, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        self.files.entry_at(self, path, io)
    }

    pub(super) fn entry_at_on_disk(&self, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        let mut seen = self.entry_state_on_disk(path, io)?;
        let unsaved = self.unsaved_text(path)?;
        if let (Some(text), PathState::File { state, .. }) = (unsaved, &mut seen) {
            *state = FileContent::of(text.into_bytes()).state(state.mode);
        }
        Ok(seen)
    }

    /// Returns the content of a file, also in the trash. Returns `None` if it is not a file, or larger than
    /// `limit`.
    pub fn content_at(
        &self,
        path: &VaultPath,
        limit: u64,
        io: &dyn IoContext,
    ) -> Result<Option<Vec<u8>>, Fault> {
        match self.entry_at(path, io)? {
            PathState::File { state, .. } if state.bytes <= limit => {}
            PathState::File { .. } | PathState::Missing | PathState::Folder | PathState::Other => {
                return Ok(None);
            }
        }
        if let Some(text) = self.unsaved_text(path)? {
            return Ok(Some(text.into_bytes()));
        }
        content_of(&self.open_entry(path)?, limit, io).map(Some)
    }

    /// Returns every name that prevents the removal of a folder, hidden ones included. A name that is too
    /// long for a path is returned as an empty string.
    pub(crate) fn names_in(&self, path: &VaultPath) -> Result<Vec<String>, Fault> {
        let (mut named, unreadable) = self.files.names_in(self, path)?;
        named.extend((unreadable > 0).then(String::new));
        Ok(named)
    }

    pub(super) fn names_on_disk(&self, path: &VaultPath) -> Result<(Vec<String>, u64), Fault> {
        let failed = |error| fault::from_errno("list", path.as_str(), error);
        let names = if in_trash(path) {
            let located = self.locate_entry(path)?.ok_or_else(|| no_longer_exists(path))?;
            let inside = folder::open_folder(&located.dir, &located.name).map_err(failed)?;
            folder::list_names(&inside).map_err(failed)?
        } else {
            folder::list_names(&self.open_folder(Some(path))?.dir).map_err(failed)?
        };
        Ok((names.named.into_iter().map(|named| named.name).collect(), names.too_long.len() as u64))
    }

    /// Returns the path of an entry in the same folder whose name differs only in case or encoding.
    pub(crate) fn name_collision_at(&self, path: &VaultPath) -> Result<Option<String>, Fault> {
        self.files.name_collision(self, path)
    }

    pub(super) fn name_collision_on_disk(&self, path: &VaultPath) -> Result<Option<String>, Fault> {
        let parent = path.parent();
        // A missing folder has no collisions, and for one behind a link nothing was recorded.
        let Some(dir) = self.quick_folder(parent.as_ref()) else { return Ok(None) };
        let failed = |error| fault::from_errno("list the folder of", path.as_str(), error);
        if !self.name_collisions.exists(&dir, path.name()).map_err(failed)? {
            return Ok(None);
        }
        let collision =
            colliding_name(&dir, path.name()).map_err(failed)?.filter(|collision| collision != path.name());
        Ok(collision.map(|collision| child(parent.as_ref(), &collision)))
    }

    /// Returns the other names in the same folder that differ from the name of `path` only in case or encoding, whether
    /// the path itself exists or not.
    pub(crate) fn other_spellings(&self, path: &VaultPath) -> Result<Vec<String>, Fault> {
        self.files.other_spellings(self, path)
    }

    pub(super) fn other_spellings_on_disk(&self, path: &VaultPath) -> Result<Vec<String>, Fault> {
        let Some(dir) = self.quick_folder(path.parent().as_ref()) else { return Ok(Vec::new()) };
        let failed = |error| fault::from_errno("list the folder of", path.as_str(), error);
        if !self.name_collisions.exists(&dir, path.name()).map_err(failed)? {
            return Ok(Vec::new());
        }
        let names = colliding_names(&dir, path.name()).map_err(failed)?;
        Ok(names.into_iter().filter(|name| name != path.name()).collect())
    }
}

const PIECE: usize = 128 << 10;

/// Hashes the whole file in chunks.
pub(super) fn state_of(open: &OpenedFile, io: &dyn IoContext) -> Result<FileState, Fault> {
    let failed = |error: std::io::Error| fault::from_io("read", open.path.as_str(), &error);
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE.min(usize::try_from(open.size() + 1).unwrap_or(PIECE))];
    let mut bytes: u64 = 0;
    loop {
        io.check_cancelled()?;
        let got = std::os::unix::fs::FileExt::read_at(&open.file, &mut piece, bytes).map_err(failed)?;
        if got == 0 {
            break;
        }
        hasher.update(&piece[..got]);
        bytes += got as u64;
    }
    Ok(FileState {
        hash: Hash::from_bytes(*hasher.finalize().as_bytes()),
        bytes,
        mode: open.stat.permissions,
    })
}

/// Returns the state of the entry with this name, which must be a file.
pub(super) fn state_at(
    dir: &Dir,
    name: &str,
    path: &VaultPath,
    io: &dyn IoContext,
) -> Result<FileState, Fault> {
    let failed = |error| fault::from_errno("read", path.as_str(), error);
    let file = folder::open_file(dir, name).map_err(failed)?;
    let stat = FileStat::of(&file).map_err(failed)?;
    if folder::kind(&stat) != NodeKind::File {
        return Err(fault::unstable_path(path.as_str()));
    }
    state_of(&OpenedFile { file, stat, path: path.clone() }, io)
}

/// Returns the whole content of a file, up to `limit`.
pub(super) fn content_of(open: &OpenedFile, limit: u64, io: &dyn IoContext) -> Result<Vec<u8>, Fault> {
    let failed = |error: std::io::Error| fault::from_io("read", open.path.as_str(), &error);
    io.check_cancelled()?;
    let mut bytes = Vec::with_capacity(usize::try_from(open.size().min(limit)).unwrap_or_default());
    (&open.file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(fault::too_large(open.path.as_str(), limit));
    }
    Ok(bytes)
}
