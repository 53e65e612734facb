//! The links of a vault, kept when files move: which files have to be written anew, and how.

use envelope::{Change, Fault, VaultPath};

use crate::links::{LeftBehind, Moves, Renaming, VaultIndex};
use crate::sandbox::{Content, Loaded, Step, Vault, Witness};

/// What moves mean for the rest of the vault.
#[derive(Default)]
pub(super) struct Relinked {
    /// One for each file whose links change, at the path that it has after the moves.
    pub(super) steps: Vec<Step>,
    pub(super) links: u64,
    pub(super) left: Vec<(VaultPath, LeftBehind)>,
    /// Files that name what moves in a way that nobody rewrites.
    pub(super) mentioned_in: Vec<VaultPath>,
}

/// What was found in one file.
enum Found {
    Affected(VaultPath),
    Mentions(VaultPath),
}

/// Looks through every note, canvas and base for links to what moves.
pub(super) fn relink(
    vault: &Vault,
    moves: &Moves,
    moved: &VaultPath,
    witness: &dyn Witness,
) -> Result<Relinked, Fault> {
    let index = VaultIndex::new(vault.file_paths(witness)?);
    let renaming = Renaming::new(&index, moves);
    let stem = stem(moved);
    let look = |path: &VaultPath, text: &str| -> Option<Found> {
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
            // Read again, with its state: it may have changed since, and its file may be reached by a link.
            Found::Affected(path) => relinked.take(vault, &renaming, moves, &path, witness)?,
        }
    }
    Ok(relinked)
}

impl Relinked {
    /// The etag that a file gets, if its links change.
    pub(super) fn etag_of(&self, after: &VaultPath) -> Option<String> {
        self.steps.iter().find_map(|step| match step.change() {
            Change::FileReplaced { path, after: state, .. } if path == after.as_str() => Some(state.etag()),
            Change::FileReplaced { .. }
            | Change::FolderCreated { .. }
            | Change::FolderRemoved { .. }
            | Change::FileCreated { .. }
            | Change::FileRemoved { .. }
            | Change::Moved { .. } => None,
        })
    }

    fn take(
        &mut self,
        vault: &Vault,
        renaming: &Renaming<'_>,
        moves: &Moves,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let loaded: Loaded = vault.load(path, witness)?;
        let Some(rewritten) = renaming.rewrite(path, loaded.text()?) else { return Ok(()) };
        let Some(after) = moves.after(path) else { return Ok(()) };
        self.left.extend(rewritten.left.into_iter().map(|left| (after.clone(), left)));
        if rewritten.links > 0 {
            self.links += rewritten.links as u64;
            self.steps.push(Step::ReplaceFile {
                path: after.clone(),
                before: loaded.state,
                content: Content::of(rewritten.text.into_bytes()),
                mode: None,
            });
        }
        Ok(())
    }
}

fn is_base(path: &VaultPath) -> bool {
    path.name().rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("base"))
}

/// The name of what moves, as people write it in a formula.
fn stem(path: &VaultPath) -> &str {
    path.name().rsplit_once('.').map_or(path.name(), |(stem, _)| stem)
}
