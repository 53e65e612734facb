//! The state of a file: its content by hash, its size and its mode.

use std::io::Read as _;

use cap_std::fs::Dir;
use envelope::{Fault, FileState, Hash, VaultPath};

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::read::OpenFile;

const PIECE: usize = 128 << 10;

/// Reads the whole file from its beginning, in pieces.
pub(super) fn state_of(open: &OpenFile, witness: &dyn Witness) -> Result<FileState, Fault> {
    let failed = |error: std::io::Error| fault::from_io("read", open.path.as_str(), &error);
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE.min(usize::try_from(open.size() + 1).unwrap_or(PIECE))];
    let mut bytes: u64 = 0;
    loop {
        witness.may_go_on()?;
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
        mode: open.stat.st_mode & 0o7777,
    })
}

/// The state of what has this very name, which must be a file.
pub(super) fn state_at(
    dir: &Dir,
    name: &str,
    path: &VaultPath,
    witness: &dyn Witness,
) -> Result<FileState, Fault> {
    let failed = |error| fault::from_errno("read", path.as_str(), error);
    let file = folder::open_file(dir, name).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    if folder::kind(&stat) != Kind::File {
        return Err(fault::restless(path.as_str()));
    }
    state_of(&OpenFile { file, stat, path: path.clone() }, witness)
}

/// The whole content of a file, bounded.
pub(super) fn content_of(open: &OpenFile, limit: u64, witness: &dyn Witness) -> Result<Vec<u8>, Fault> {
    let failed = |error: std::io::Error| fault::from_io("read", open.path.as_str(), &error);
    witness.may_go_on()?;
    let mut bytes = Vec::with_capacity(usize::try_from(open.size().min(limit)).unwrap_or_default());
    (&open.file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(fault::too_large(open.path.as_str(), limit));
    }
    Ok(bytes)
}
