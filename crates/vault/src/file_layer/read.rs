//! Reads files: bounded, without blocking, and regular files only.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::sync::Arc;

use envelope::{Failure, Fault, FileState, Hash, VaultPath};
use rustix::io::Errno;

use super::change_step::{DEFAULT_MODE, FileContent};
use super::etag::{etag_from, etag_of};
use super::fault;
use super::folder::{self, NodeKind};
use super::io_context::IoContext;
use super::locate::{FinalLink, LocatedEntry, Location};
use super::overlay::OverlayTarget;
use super::path_state::content_of;
use super::vault::Vault;
use crate::platform::FileStat;

/// Files up to this size are read whole, so that every result has an etag.
const MAX_HASHED: u64 = 64 << 20;
const PIECE: usize = 128 << 10;
/// Attempts for a path that is swapped while it is opened.
const MAX_TRIES: u32 = 16;

/// A part of a file, with metadata of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSlice {
    /// As it is spelled on disk, links resolved.
    pub path: VaultPath,
    pub bytes: Vec<u8>,
    /// Offset of `bytes` in the file.
    pub start: u64,
    /// Size of the whole file.
    pub size: u64,
    /// Etag of the whole file; `None` above 64 MiB.
    pub etag: Option<String>,
    pub mtime_ms: i64,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// As it is spelled on disk, links resolved.
    pub path: VaultPath,
    pub bytes: Vec<u8>,
    pub state: FileState,
    /// Zero if the content is not on disk yet.
    pub mtime_ms: i64,
}

impl LoadedFile {
    /// Returns the content as text. Fails if it is not UTF-8.
    pub fn text(&self) -> Result<&str, Fault> {
        std::str::from_utf8(&self.bytes).map_err(|_| {
            Fault::new(Failure::PreconditionFailed, format!("`{}` is not UTF-8 text", self.path))
                .hint("only text can be edited in part; overwrite the whole file instead")
        })
    }
}

/// Where the content of a file is read from.
pub(super) enum ContentSource {
    Disk {
        at: VaultPath,
        /// The requested path, if it differs.
        path: Option<VaultPath>,
    },
    Text {
        path: VaultPath,
        bytes: Arc<[u8]>,
        state: FileState,
    },
}

/// An open regular file.
pub(super) struct OpenedFile {
    pub(super) file: File,
    pub(super) stat: FileStat,
    pub(super) path: VaultPath,
}

impl OpenedFile {
    pub(super) fn size(&self) -> u64 {
        self.stat.size
    }
}

impl Vault {
    /// Reads the bytes of a file in `window`. Memory is bounded by the window, not by the file.
    pub fn read(&self, path: &VaultPath, window: Range<u64>, io: &dyn IoContext) -> Result<FileSlice, Fault> {
        let (open, path) = match self.content_source(path)? {
            ContentSource::Text { path, bytes, .. } => return Ok(slice_of(path, &bytes, &window)),
            ContentSource::Disk { at, path } => (self.open_file(&at)?, path),
        };
        let hash_all = open.size() <= MAX_HASHED;
        let (bytes, etag, size) = read_window(&open, &window, hash_all, io)?;
        Ok(FileSlice {
            path: path.unwrap_or(open.path),
            bytes,
            start: window.start.min(size),
            size,
            etag,
            mtime_ms: open.stat.mtime_ms(),
        })
    }

    /// Reads a whole file, up to 64 MiB.
    pub fn load(&self, path: &VaultPath, io: &dyn IoContext) -> Result<LoadedFile, Fault> {
        let (open, path) = match self.content_source(path)? {
            ContentSource::Text { path, bytes, state } => {
                return Ok(LoadedFile { path, bytes: bytes.to_vec(), state, mtime_ms: 0 });
            }
            ContentSource::Disk { at, path } => (self.open_file(&at)?, path),
        };
        let bytes = content_of(&open, MAX_HASHED, io)?;
        let mode = open.stat.permissions;
        let state = FileState { hash: Hash::of(&bytes), bytes: bytes.len() as u64, mode };
        let mtime_ms = open.stat.mtime_ms();
        Ok(LoadedFile { path: path.unwrap_or(open.path), bytes, state, mtime_ms })
    }

    /// Reads a whole file on disk, also in the trash, or the unsaved text of a host. Ignores the overlay.
    pub(super) fn load_without_overlay(&self, at: &VaultPath, io: &dyn IoContext) -> Result<Vec<u8>, Fault> {
        match self.unsaved_at(at)? {
            Some(bytes) => Ok(bytes.to_vec()),
            None => content_of(&self.open_entry(at)?, MAX_HASHED, io),
        }
    }

    /// Returns where the content of a file is: on disk, in the overlay, or unsaved in a host.
    pub(super) fn content_source(&self, path: &VaultPath) -> Result<ContentSource, Fault> {
        Vault::refuse_protected(path)?;
        let (path, at) = match self.files.source(self, path)? {
            (path, OverlayTarget::Disk(at)) => (path, at),
            (path, OverlayTarget::File { bytes, state }) => {
                return Ok(ContentSource::Text { path, bytes, state });
            }
            (path, OverlayTarget::Folder) => return Err(not_a_file(NodeKind::Folder, &path)),
            (path, OverlayTarget::Missing { .. }) => {
                return Err(Fault::new(Failure::NotFound, format!("`{path}` does not exist")));
            }
        };
        if let Some(bytes) = self.unsaved_at(&at)? {
            let state = FileContent::Bytes(bytes.clone()).state(DEFAULT_MODE);
            return Ok(ContentSource::Text { path, bytes, state });
        }
        // Below a folder that was moved in the overlay, the path on disk is not the requested one.
        let path = (at != path).then_some(path);
        Ok(ContentSource::Disk { at, path })
    }

    /// Returns the unsaved text of a note on disk, if a host has one.
    fn unsaved_at(&self, at: &VaultPath) -> Result<Option<Arc<[u8]>>, Fault> {
        if self.host.get().is_none() {
            return Ok(None);
        }
        let real = self.real_path(at).unwrap_or_else(|| at.clone());
        Ok(self.unsaved_text(&real)?.map(|text| text.into_bytes().into()))
    }

    /// Opens the file with exactly this name on disk.
    pub(super) fn open_entry(&self, path: &VaultPath) -> Result<OpenedFile, Fault> {
        let located = self.locate_entry(path)?.ok_or_else(|| super::replace::no_longer_exists(path))?;
        if located.kind() == NodeKind::Link {
            return self.open_file(path);
        }
        open_place(located)?.ok_or_else(|| fault::unstable_path(path.as_str()))
    }

    pub(super) fn open_file(&self, path: &VaultPath) -> Result<OpenedFile, Fault> {
        for _ in 0..MAX_TRIES {
            let located = match self.locate(path, FinalLink::Follow)? {
                Location::Found(located) => located,
                Location::Missing(missing_path) => return Err(missing_path.not_found(path)),
            };
            if let Some(open) = open_place(located)? {
                return Ok(open);
            }
        }
        Err(fault::unstable_path(path.as_str()))
    }
}

/// Opens a located entry. Returns `None` if it was swapped meanwhile.
pub(super) fn open_place(located: LocatedEntry) -> Result<Option<OpenedFile>, Fault> {
    // Checked before opening: opening a device can have an effect.
    require_regular_file(located.kind(), &located.path)?;
    let file = match folder::open_file(&located.dir, &located.name) {
        Ok(file) => file,
        Err(Errno::LOOP | Errno::NOENT | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(fault::from_errno("open", located.path.as_str(), error)),
    };
    let stat =
        FileStat::of(&file).map_err(|error| fault::from_errno("read", located.path.as_str(), error))?;
    require_regular_file(folder::kind(&stat), &located.path)?;
    Ok(Some(OpenedFile { file, stat, path: located.path }))
}

fn require_regular_file(kind: NodeKind, path: &VaultPath) -> Result<(), Fault> {
    if kind == NodeKind::File { Ok(()) } else { Err(not_a_file(kind, path)) }
}

/// Returns the error for an entry that is not a file.
fn not_a_file(kind: NodeKind, path: &VaultPath) -> Fault {
    if kind == NodeKind::Folder {
        return Fault::new(Failure::PreconditionFailed, format!("`{path}` is a folder, not a file"))
            .hint("list the folder, then name a file in it");
    }
    Fault::new(Failure::PreconditionFailed, format!("`{path}` is a pipe, a socket or a device, not a file"))
        .hint("name a regular file")
}

/// Returns a part of content in memory.
fn slice_of(path: VaultPath, bytes: &[u8], window: &Range<u64>) -> FileSlice {
    let size = bytes.len() as u64;
    FileSlice {
        path,
        bytes: overlap(bytes, 0, window).to_vec(),
        start: window.start.min(size),
        size,
        etag: Some(etag_of(bytes)),
        mtime_ms: 0,
    }
}

/// Returns the bytes of `window`, the etag of the whole file if requested, and the size.
fn read_window(
    open: &OpenedFile,
    window: &Range<u64>,
    hash_all: bool,
    io: &dyn IoContext,
) -> Result<(Vec<u8>, Option<String>, u64), Fault> {
    let failed = |error: std::io::Error| fault::from_io("read", open.path.as_str(), &error);
    let mut bytes = Vec::new();
    if !hash_all {
        let mut at = window.start;
        let end = window.end.min(open.size());
        while at < end {
            io.check_cancelled()?;
            let mut piece = vec![0; PIECE.min(usize::try_from(end - at).unwrap_or(PIECE))];
            let got = std::os::unix::fs::FileExt::read_at(&open.file, &mut piece, at).map_err(failed)?;
            if got == 0 {
                break;
            }
            bytes.extend_from_slice(&piece[..got]);
            at += got as u64;
        }
        return Ok((bytes, None, open.size()));
    }
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE.min(usize::try_from(open.size() + 1).unwrap_or(PIECE))];
    let mut at: u64 = 0;
    let mut reader = &open.file;
    loop {
        io.check_cancelled()?;
        let got = reader.read(&mut piece).map_err(failed)?;
        if got == 0 {
            return Ok((bytes, Some(etag_from(&hasher)), at));
        }
        hasher.update(&piece[..got]);
        bytes.extend_from_slice(overlap(&piece[..got], at, window));
        at += got as u64;
    }
}

/// Returns the part of a chunk that is in the window.
fn overlap<'a>(piece: &'a [u8], at: u64, window: &Range<u64>) -> &'a [u8] {
    let clamp = |edge: u64| {
        usize::try_from(edge.saturating_sub(at)).map_or(piece.len(), |offset| offset.min(piece.len()))
    };
    piece.get(clamp(window.start)..clamp(window.end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn pieces_are_cut_to_the_window() {
        let piece = b"abcdef";
        assert_eq!(overlap(piece, 10, &(0..5)), b"");
        assert_eq!(overlap(piece, 10, &(0..12)), b"ab");
        assert_eq!(overlap(piece, 10, &(11..13)), b"bc");
        assert_eq!(overlap(piece, 10, &(14..u64::MAX)), b"ef");
        assert_eq!(overlap(piece, 10, &(16..20)), b"");
        let backwards = std::ops::Range { start: 13, end: 11 };
        assert_eq!(overlap(piece, 10, &backwards), b"");
    }
}
