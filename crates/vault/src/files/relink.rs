//! The links of a vault, kept when files move: which files have to be written anew, and how.
//!
//! To find them, every note is read. That is done once before anyone is asked and counts again when the call
//! has its turn, as long as no file has another size, time or place by then. A file that is written twice
//! within one tick of the disk's clock, in place and with as many bytes, is not told apart by that; what is
//! written anew is compared with its content all the same.

use std::sync::Arc;

use envelope::{Fault, Hash, VaultPath};

use crate::links::{FileKind, LeftBehind, Moves, Renaming, VaultIndex};
use crate::sandbox::{Content, Loaded, Step, Vault, Witness, etag_of};

/// What moves mean for the rest of the vault.
#[derive(Default)]
pub(super) struct Relinked {
    pub(super) files: Vec<LinkFile>,
    pub(super) links: u64,
    /// Links that lead nowhere afterwards, with the files that they are in.
    pub(super) left: Vec<(VaultPath, LeftBehind)>,
    /// Files that name what moves in a way that nobody rewrites.
    pub(super) mentioned_in: Vec<VaultPath>,
    /// Notes and canvases that are too large or no text.
    pub(super) not_looked_into: Vec<VaultPath>,
    looked: Option<Looked>,
}

/// What was looked at.
struct Looked {
    index: VaultIndex,
    moves: Moves,
    /// Stands for the size, the times and the place of every file.
    print: Hash,
}

/// A file whose links change.
pub(super) struct LinkFile {
    /// Where it is before the moves.
    source: VaultPath,
    /// Where it is after them.
    pub(super) path: VaultPath,
    /// Replaces it where it is after the moves.
    pub(super) step: Step,
    pub(super) links: u64,
    etag: String,
}

/// A file as it is to be written.
pub(super) struct Anew {
    /// Absent when no link has to be written differently.
    pub(super) file: Option<LinkFile>,
    pub(super) left: Vec<LeftBehind>,
}

/// What was found in one file.
enum Found {
    Affected(VaultPath),
    Mentions(VaultPath),
    NoText(VaultPath),
}

/// Looks through every note, canvas and base for links to what moves; or takes what was found before, if the
/// vault is still as it was.
pub(super) fn relink(
    vault: &Vault,
    moves: Moves,
    moved: &VaultPath,
    before: Option<&Arc<Relinked>>,
    witness: &dyn Witness,
) -> Result<Arc<Relinked>, Fault> {
    // First, so that whatever changes while the notes are read shows the next time.
    let (paths, print) = vault.files_and_print(witness)?;
    let is_as_it_was = |looked: &Looked| looked.print == print && looked.moves == moves;
    if let Some(before) = before.filter(|before| before.looked.as_ref().is_some_and(is_as_it_was)) {
        return Ok(before.clone());
    }
    let index = VaultIndex::new(paths);
    let renaming = Renaming::new(&index, &moves);
    let stem = stem(moved);
    let look = |path: &VaultPath, text: Option<&str>| -> Option<Found> {
        let Some(text) = text else {
            return (FileKind::of(path) != FileKind::Other).then(|| Found::NoText(path.clone()));
        };
        if is_base(path) {
            return text.contains(stem).then(|| Found::Mentions(path.clone()));
        }
        let affected = renaming.may_affect(path, text) && renaming.rewrite(path, text).is_some();
        affected.then(|| Found::Affected(path.clone()))
    };
    let extensions = ["md", "canvas", "base"].map(str::to_owned);
    let mut relinked = Relinked::default();
    for found in vault.through_texts(&extensions, &look, witness)? {
        match found {
            Found::Mentions(path) => relinked.mentioned_in.push(path),
            Found::NoText(path) => relinked.not_looked_into.push(path),
            // Read again, with its state: it may have changed since, and its file may be reached by a link.
            Found::Affected(path) => {
                if let Some(after) = moves.after(&path) {
                    let anew = write_anew(vault, &renaming, (&path, &path, after), witness)?;
                    relinked.take(after, anew);
                }
            }
        }
    }
    relinked.looked = Some(Looked { index, moves, print });
    Ok(Arc::new(relinked))
}

impl Relinked {
    /// The etag that a file gets, if its links change.
    pub(super) fn etag_of(&self, after: &VaultPath) -> Option<&str> {
        self.files.iter().find(|file| file.path == *after).map(|file| file.etag.as_str())
    }

    /// A file that was changed since, now that everything has moved.
    pub(super) fn anew(&self, vault: &Vault, file: &LinkFile, witness: &dyn Witness) -> Result<Anew, Fault> {
        let Some(Looked { index, moves, .. }) = &self.looked else {
            return Ok(Anew { file: None, left: Vec::new() });
        };
        let renaming = Renaming::new(index, moves);
        write_anew(vault, &renaming, (&file.source, &file.path, &file.path), witness)
    }

    fn take(&mut self, after: &VaultPath, anew: Anew) {
        self.left.extend(anew.left.into_iter().map(|left| (after.clone(), left)));
        self.links += anew.file.as_ref().map_or(0, |file| file.links);
        self.files.extend(anew.file);
    }
}

/// Writes the links of a file anew: the file that was at `source` before the moves, is at `now` and is at
/// `after` when they are made.
fn write_anew(
    vault: &Vault,
    renaming: &Renaming<'_>,
    (source, now, after): (&VaultPath, &VaultPath, &VaultPath),
    witness: &dyn Witness,
) -> Result<Anew, Fault> {
    let loaded: Loaded = vault.load(now, witness)?;
    let Some(rewritten) = renaming.rewrite(source, loaded.text()?) else {
        return Ok(Anew { file: None, left: Vec::new() });
    };
    let links = rewritten.links as u64;
    let etag = etag_of(rewritten.text.as_bytes());
    let content = Content::of(rewritten.text.into_bytes());
    let step = Step::ReplaceFile { path: after.clone(), before: loaded.state, content, mode: None };
    let file = LinkFile { source: source.clone(), path: after.clone(), step, links, etag };
    Ok(Anew { file: Some(file).filter(|file| file.links > 0), left: rewritten.left })
}

fn is_base(path: &VaultPath) -> bool {
    path.name().rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("base"))
}

/// The name of what moves, as people write it in a formula.
fn stem(path: &VaultPath) -> &str {
    path.name().rsplit_once('.').map_or(path.name(), |(stem, _)| stem)
}
