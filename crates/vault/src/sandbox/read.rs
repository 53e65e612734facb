//! Reading: bounded, without blocking, and only from regular files.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::sync::Arc;

use envelope::{Failure, Fault, FileState, Hash, VaultPath};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::change::Witness;
use super::etag::{etag_from, etag_of};
use super::fault;
use super::folder::{self, Kind};
use super::layer::Lead;
use super::locate::{Found, LastLink, Place};
use super::state::content_of;
use super::step::{Content, DEFAULT_MODE};
use super::vault::Vault;

/// Files up to this size are read whole, so that every answer can carry an etag.
const MAX_HASHED: u64 = 64 << 20;
const PIECE: usize = 128 << 10;
/// How often a path that is swapped while it is opened is looked up again.
const MAX_TRIES: u32 = 16;

/// A part of a file and what is known about the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPart {
    /// As it is spelled on disk, links resolved.
    pub path: VaultPath,
    pub bytes: Vec<u8>,
    /// Where `bytes` starts in the file.
    pub start: u64,
    /// Of the whole file.
    pub size: u64,
    /// Of the whole file; absent when it is larger than 64 MiB.
    pub etag: Option<String>,
    pub mtime_ms: i64,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// As it is spelled on disk, links resolved.
    pub path: VaultPath,
    pub bytes: Vec<u8>,
    pub state: FileState,
    /// Zero when the content is not on disk yet.
    pub mtime_ms: i64,
}

impl Loaded {
    /// The content as text.
    pub fn text(&self) -> Result<&str, Fault> {
        std::str::from_utf8(&self.bytes).map_err(|_| {
            Fault::new(Failure::PreconditionFailed, format!("`{}` is not UTF-8 text", self.path))
                .hint("only text can be edited in part; write the whole file anew instead")
        })
    }
}

/// Where the content of a file stands.
pub(super) enum Ahead {
    Disk {
        at: VaultPath,
        /// As it was asked for, where that is another path.
        path: Option<VaultPath>,
    },
    Text {
        path: VaultPath,
        bytes: Arc<[u8]>,
        state: FileState,
    },
}

/// An open regular file.
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) stat: Stat,
    pub(super) path: VaultPath,
}

impl OpenFile {
    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }
}

impl Vault {
    /// Reads the bytes of `window` that the file has. Memory is bounded by the window, not by the file.
    pub fn read(
        &self,
        path: &VaultPath,
        window: Range<u64>,
        witness: &dyn Witness,
    ) -> Result<ReadPart, Fault> {
        let (open, path) = match self.ahead_of_disk(path)? {
            Ahead::Text { path, bytes, .. } => return Ok(part_of(path, &bytes, &window)),
            Ahead::Disk { at, path } => (self.open_file(&at)?, path),
        };
        let hash_all = open.size() <= MAX_HASHED;
        let (bytes, etag, size) = take(&open, &window, hash_all, witness)?;
        Ok(ReadPart {
            path: path.unwrap_or(open.path),
            bytes,
            start: window.start.min(size),
            size,
            etag,
            mtime_ms: folder::mtime_ms(&open.stat),
        })
    }

    /// The whole of a file, up to 64 MiB.
    pub fn load(&self, path: &VaultPath, witness: &dyn Witness) -> Result<Loaded, Fault> {
        let (open, path) = match self.ahead_of_disk(path)? {
            Ahead::Text { path, bytes, state } => {
                return Ok(Loaded { path, bytes: bytes.to_vec(), state, mtime_ms: 0 });
            }
            Ahead::Disk { at, path } => (self.open_file(&at)?, path),
        };
        let bytes = content_of(&open, MAX_HASHED, witness)?;
        let mode = open.stat.st_mode & 0o7777;
        let state = FileState { hash: Hash::of(&bytes), bytes: bytes.len() as u64, mode };
        let mtime_ms = folder::mtime_ms(&open.stat);
        Ok(Loaded { path: path.unwrap_or(open.path), bytes, state, mtime_ms })
    }

    /// The whole of a file on disk, also in the trash, or of a host where that is ahead of the disk; whatever was
    /// imagined.
    pub(super) fn load_as_it_stands(&self, at: &VaultPath, witness: &dyn Witness) -> Result<Vec<u8>, Fault> {
        match self.unsaved_at(at) {
            Some((bytes, _)) => Ok(bytes.to_vec()),
            None => content_of(&self.open_entry(at)?, MAX_HASHED, witness),
        }
    }

    /// Whether a file is to be read from disk, and where there, or stands elsewhere: in the layer of a
    /// preview, or unsaved in a host.
    pub(super) fn ahead_of_disk(&self, path: &VaultPath) -> Result<Ahead, Fault> {
        Vault::refuse_protected(path)?;
        let (path, at) = match &self.layer {
            None => (path.clone(), path.clone()),
            Some(layer) => match layer.resolve(self, path)? {
                (path, Lead::Disk(at)) => (path, at),
                (path, Lead::File { bytes, state }) => return Ok(Ahead::Text { path, bytes, state }),
                (path, Lead::Folder) => return Err(other_kind(Kind::Folder, &path)),
                (path, Lead::Nowhere { .. }) => {
                    return Err(Fault::new(Failure::NotFound, format!("`{path}` does not exist")));
                }
            },
        };
        if let Some((bytes, state)) = self.unsaved_at(&at) {
            return Ok(Ahead::Text { path, bytes, state });
        }
        // Under a folder that was moved in imagination, the path on disk is not the one that was asked for.
        let path = (at != path).then_some(path);
        Ok(Ahead::Disk { at, path })
    }

    /// The text of a note on disk as it stands in a host, if that is ahead of the disk.
    fn unsaved_at(&self, at: &VaultPath) -> Option<(Arc<[u8]>, FileState)> {
        let host = self.host.get()?;
        let real = self.real_path(at).unwrap_or_else(|| at.clone());
        let bytes: Arc<[u8]> = host.unsaved(&real)?.into_bytes().into();
        let state = Content::Bytes(bytes.clone()).state(DEFAULT_MODE);
        Some((bytes, state))
    }

    /// The file that has this very name on disk, links not followed.
    pub(super) fn open_entry(&self, path: &VaultPath) -> Result<OpenFile, Fault> {
        let place = self.entry_at(path)?.ok_or_else(|| super::replace::gone(path))?;
        if place.kind() == Kind::Link {
            return self.open_file(path);
        }
        open_place(place)?.ok_or_else(|| fault::restless(path.as_str()))
    }

    pub(super) fn open_file(&self, path: &VaultPath) -> Result<OpenFile, Fault> {
        for _ in 0..MAX_TRIES {
            let place = match self.locate(path, LastLink::Follow)? {
                Found::Place(place) => place,
                Found::Nothing(gap) => return Err(gap.not_found(path)),
            };
            if let Some(open) = open_place(place)? {
                return Ok(open);
            }
        }
        Err(fault::restless(path.as_str()))
    }
}

/// Opens what was found; `None` when it was swapped for something else meanwhile.
pub(super) fn open_place(place: Place) -> Result<Option<OpenFile>, Fault> {
    // Asked before opening: to open a device can already do something.
    refuse_other_kinds(place.kind(), &place.path)?;
    let file = match folder::open_file(&place.dir, &place.name) {
        Ok(file) => file,
        Err(Errno::LOOP | Errno::NOENT | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(fault::from_errno("open", place.path.as_str(), error)),
    };
    let stat =
        rustix::fs::fstat(&file).map_err(|error| fault::from_errno("read", place.path.as_str(), error))?;
    refuse_other_kinds(folder::kind(&stat), &place.path)?;
    Ok(Some(OpenFile { file, stat, path: place.path }))
}

fn refuse_other_kinds(kind: Kind, path: &VaultPath) -> Result<(), Fault> {
    if kind == Kind::File { Ok(()) } else { Err(other_kind(kind, path)) }
}

/// What is there is no file.
fn other_kind(kind: Kind, path: &VaultPath) -> Fault {
    if kind == Kind::Folder {
        return Fault::new(Failure::PreconditionFailed, format!("`{path}` is a folder, not a file"))
            .hint("list the folder, then name a file in it");
    }
    Fault::new(Failure::PreconditionFailed, format!("`{path}` is a pipe, a socket or a device, not a file"))
        .hint("name a regular file")
}

/// A part of content that is in memory.
fn part_of(path: VaultPath, bytes: &[u8], window: &Range<u64>) -> ReadPart {
    let size = bytes.len() as u64;
    ReadPart {
        path,
        bytes: overlap(bytes, 0, window).to_vec(),
        start: window.start.min(size),
        size,
        etag: Some(etag_of(bytes)),
        mtime_ms: 0,
    }
}

/// The bytes of `window`, the etag of everything if asked for, and the size that was found.
fn take(
    open: &OpenFile,
    window: &Range<u64>,
    hash_all: bool,
    witness: &dyn Witness,
) -> Result<(Vec<u8>, Option<String>, u64), Fault> {
    let failed = |error: std::io::Error| fault::from_io("read", open.path.as_str(), &error);
    let mut bytes = Vec::new();
    if !hash_all {
        let mut at = window.start;
        let end = window.end.min(open.size());
        while at < end {
            witness.may_go_on()?;
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
        witness.may_go_on()?;
        let got = reader.read(&mut piece).map_err(failed)?;
        if got == 0 {
            return Ok((bytes, Some(etag_from(&hasher)), at));
        }
        hasher.update(&piece[..got]);
        bytes.extend_from_slice(overlap(&piece[..got], at, window));
        at += got as u64;
    }
}

/// The part of a piece that lies in the window.
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
