//! Result of planning a restoration: its steps, the entries that they restore, and the conflicts.

use envelope::{EntryKind, Fault, FileState, VaultChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::{EntryHistories, EntryHistory, in_trash};
use super::link_updates::{DeadLink, RestoredLinks};
use super::locations::{DiskAssumption, PathStateCache};
use super::planner::{content_of, plan_with};
use crate::file_layer::{ChangeStep, IoContext, Vault};

/// Decisions about files that were edited since, by any of their names.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreChoices<'a> {
    /// If not empty: everything else is left unchanged. A folder stands for everything below it.
    pub only: &'a [String],
    /// Left exactly as it is, with its name. A folder stands for everything below it.
    pub leave: &'a [String],
    /// Left unchanged, with everything below them. A file that was edited and moved keeps its content; its name is
    /// restored.
    pub keep: &'a [String],
    /// Restored all the same; the current content is stored first.
    pub overwrite: &'a [String],
}

/// One file or moved folder, before and after the restoration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredEntry {
    /// Path afterwards; the current path if the entry will be removed.
    pub path: String,
    pub kind: EntryKind,
    /// Current path, if it differs.
    pub from: Option<String>,
    /// Current content; `None` if the entry is absent or has no content.
    pub before: Option<FileState>,
    /// Content afterwards.
    pub after: Option<FileState>,
}

/// Result of planning a restoration.
#[derive(Debug, Default)]
pub struct RestorePlan {
    pub(crate) steps: Vec<ChangeStep>,
    /// Files and moved folders that the steps restore.
    pub restored: Vec<RestoredEntry>,
    /// How many files, folders and names already have their final state.
    pub already_so: usize,
    /// Paths that would have been restored but for `keep`.
    pub kept: Vec<String>,
    /// Current name and original name of entries that keep their current name.
    pub names_kept: Vec<(String, String)>,
    /// Paths of entries that were removed since and are not created again.
    pub missing: Vec<String>,
    /// Folders that stay because they are not empty.
    pub left: Vec<String>,
    /// Folders that go to the trash without a record of what is in them, compared or by decision. Restoring the changes needs
    /// them in `overwrite`.
    pub uncompared: Vec<String>,
    /// Conflicts. The plan may only be applied if this list is empty.
    pub conflicts: Vec<RestoreConflict>,
    /// Notes whose links are rewritten after the steps. Filled by `plan_link_updates`.
    pub links: Vec<RestoredLinks>,
    /// Links in kept notes that lead to another file or to none afterwards, with the current path of the note.
    pub dead_links: Vec<(String, DeadLink)>,
    /// Bases that mention a moved file; their formulas are not rewritten.
    pub mentioned_in: Vec<String>,
    /// Notes that may link to a moved file, but are too large or no text.
    pub not_looked_into: Vec<String>,
}

impl RestorePlan {
    /// Returns the changes that the steps make, in order. Restoring this list again finds it already made.
    pub fn changes(&self) -> Vec<VaultChange> {
        self.steps.iter().map(ChangeStep::change).collect()
    }
}

/// Plans a restoration of the vault in its current state. Changes nothing.
pub fn plan_restore(
    vault: &Vault,
    changes: &[VaultChange],
    choices: RestoreChoices<'_>,
    io: &dyn IoContext,
) -> Result<RestorePlan, Fault> {
    super::check_paths(changes)?;
    let histories = EntryHistories::read(changes);
    let disk = PathStateCache::new(vault, io);
    let plain = plan_with(&histories, &disk, choices, DiskAssumption::NothingApplied)?;
    if plain.conflicts.is_empty() {
        return Ok(plain);
    }
    let other = plan_with(&histories, &disk, choices, DiskAssumption::AllApplied)?;
    Ok(if other.conflicts.is_empty() { other } else { plain })
}

/// Reason that something cannot be restored as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum RestoreCause {
    /// The file holds something else by now.
    Edited,
    /// The name belongs to something else by now.
    Taken,
    /// It is not there any more.
    Gone,
    /// It is new in a folder that would go to the trash.
    Added,
    /// It has a link that cannot be rewritten to the name that is put back.
    Links,
    /// It is a folder that would go to the trash, and what was in it when it went there first is not recorded.
    Unknown,
}

/// One thing that was changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub struct RestoreConflict {
    /// Where that is now.
    pub path: String,
    /// `edited`: the file holds something else. `taken`: the name belongs to something else, in the trash too.
    /// `gone`: it is not there any more. `added`: it is new in a folder that would go to the trash. `links`: it has links that cannot
    /// be rewritten. `unknown`: a folder that would go to the trash, without a record of what was in it.
    pub why: RestoreCause,
    /// Whether it can be restored all the same. The current content is then kept, and a redo brings it back.
    pub can_overwrite: bool,
    /// The links that cannot be rewritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<DeadLink>,
    /// Etag of what the list left there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub expected_etag: Option<String>,
    /// Etag of what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub current_etag: Option<String>,
    /// Content that would be restored, for a comparison.
    #[serde(skip)]
    pub target: Option<FileState>,
    /// Current content.
    #[serde(skip)]
    pub current: Option<FileState>,
}

impl RestoreConflict {
    pub(super) fn new(
        history: &EntryHistory,
        path: &str,
        why: RestoreCause,
        now: Option<&FileState>,
        can_overwrite: bool,
    ) -> RestoreConflict {
        let held = history.trashed.held.as_ref().map(|held| &held.hash);
        let expected = history.contents.first().or(held).filter(|_| !history.created);
        RestoreConflict {
            path: path.to_owned(),
            why,
            can_overwrite,
            links: Vec::new(),
            expected_etag: expected.map(etag_of_hash),
            current_etag: now.map(FileState::etag),
            target: content_of(history).filter(|_| !history.deleted),
            current: now.copied(),
        }
    }

    /// Returns the conflict as one sentence, with the path first.
    pub fn words(&self) -> String {
        let path = &self.path;
        match self.why {
            RestoreCause::Edited => format!("`{path}` was edited since"),
            RestoreCause::Taken if in_trash(path) => format!(
                "`{path}` is not what was deleted: the trash was emptied, and something else of that name is \
                 in it now"
            ),
            RestoreCause::Taken => format!("`{path}` is taken by something else"),
            RestoreCause::Gone => format!("`{path}` no longer exists"),
            RestoreCause::Added => {
                format!("`{path}` was added since, to a folder that would go to the trash")
            }
            RestoreCause::Unknown => format!(
                "`{path}` would go to the trash with all that is in it; it is too large to record what that was, so \
                 notes that are new or edited since cannot be told apart"
            ),
            RestoreCause::Links => {
                let links = self.links.iter().map(|link| format!("`{}` in line {}", link.target, link.line));
                let links = links.collect::<Vec<_>>().join(", ");
                format!("`{path}` has links that cannot be rewritten and would lead nowhere: {links}")
            }
        }
    }
}

fn etag_of_hash(hash: &envelope::Hash) -> String {
    FileState { hash: *hash, bytes: 0, mode: 0 }.etag()
}
