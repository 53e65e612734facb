//! Decisions about notes that were edited since the run.

use std::sync::Arc;

use engine::inverse_changes;
use envelope::{Fault, RunId, VaultChange};
use vault::{
    RestoreCause, RestoreChoices, RestoreConflict, RestorePlan, RestoredEntry, Vault, plan_link_updates,
    plan_restore,
};

use super::later_runs::{LaterRun, later_runs};
use super::target::{UndoScope, UndoTarget};
use super::undo_preview::{content, stored};
use crate::diff::{DiffLimits, DiffSet, FileDiff};
use crate::display_text::escape_line;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::null_context::NullContext;
use crate::text_style::TextStyle;
use crate::vault_context::VaultContext;

/// Conflicts named in an error; the JSON answer has them all.
const LISTED_CONFLICTS: usize = 20;

/// Asks about one conflict; `None` if the user cannot be asked. An error ends the undo.
pub type AskConflict<'a> = dyn Fn(&EditConflict<'_>) -> Result<Option<ConflictChoice>, AppError> + 'a;

/// A note that differs from how the run left it.
pub struct EditConflict<'a> {
    pub conflict: &'a RestoreConflict,
    vault: &'a Vault,
    target: &'a UndoTarget,
    later: &'a [LaterRun],
}

/// Policy for notes that were edited since the run.
#[derive(Clone, Copy)]
pub enum ConflictPolicy<'a> {
    /// Ask about each.
    Ask(&'a AskConflict<'a>),
    /// Leave each as it is.
    Keep,
    /// Restore each where possible, and keep it otherwise.
    Restore,
    /// Report them only, for a dry run.
    Report,
    /// Fail.
    Refuse,
}

/// The decision about one edited note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictChoice {
    Keep,
    Restore,
}

/// The decisions so far.
#[derive(Debug, Default)]
pub(super) struct RestoreDecisions {
    keep: Vec<String>,
    overwrite: Vec<String>,
}

impl RestoreDecisions {
    /// Plans the changes, and then the links to files that they move.
    fn foresee(
        &self,
        vault: &Vault,
        changes: &[VaultChange],
        target: &UndoTarget,
        policy: ConflictPolicy<'_>,
    ) -> Result<RestorePlan, AppError> {
        let UndoScope { only, keep: leave } = &target.scope;
        let choices = RestoreChoices { only, leave, keep: &self.keep, overwrite: &self.overwrite };
        let unreadable = |fault: Fault| AppError::io("read the vault", fault.message);
        let mut found = plan_restore(vault, changes, choices, &NullContext).map_err(unreadable)?;
        // Before links are planned: a rewritten link is no edit that would be lost.
        self.add_edits_between(target, &mut found);
        // Which files move is known when every conflict is decided.
        if found.conflicts.is_empty() || matches!(policy, ConflictPolicy::Report) {
            plan_link_updates(vault, &mut found, choices, target.since, &NullContext).map_err(unreadable)?;
        }
        Ok(found)
    }
}

/// Plans the restore with a decision about every conflict. One decision can cause the next conflict: a note that is kept
/// blocks its name for others.
pub(super) fn decide_conflicts(
    context: &VaultContext,
    vault: &Arc<Vault>,
    target: &UndoTarget,
    policy: ConflictPolicy<'_>,
) -> Result<RestorePlan, AppError> {
    let changes = inverse_changes(&target.made);
    let mut decided = RestoreDecisions::default();
    let mut later = None;
    // Each round decides about at least one change, so there are at most as many rounds as changes; one more decides about
    // links.
    for _ in 0..=changes.len() + 1 {
        let found = decided.foresee(vault, &changes, target, policy)?;
        if found.conflicts.is_empty() || matches!(policy, ConflictPolicy::Report) {
            return Ok(found);
        }
        let later = match &later {
            Some(later) => later,
            None => later.insert(later_runs(context, target)?),
        };
        for conflict in &found.conflicts {
            match (policy, conflict.can_overwrite) {
                // A note that cannot be restored is always kept: the undo could not continue otherwise.
                (ConflictPolicy::Keep, _) | (ConflictPolicy::Restore, false) => {
                    decided.keep.push(conflict.path.clone());
                }
                (ConflictPolicy::Restore, true) => decided.overwrite.push(conflict.path.clone()),
                (ConflictPolicy::Ask(ask), _) => match ask(&EditConflict { conflict, vault, target, later })?
                {
                    Some(ConflictChoice::Keep) => decided.keep.push(conflict.path.clone()),
                    Some(ConflictChoice::Restore) => decided.overwrite.push(conflict.path.clone()),
                    None => return Err(refused(target, &found.conflicts, later)),
                },
                (ConflictPolicy::Refuse | ConflictPolicy::Report, _) => {
                    return Err(refused(target, &found.conflicts, later));
                }
            }
        }
    }
    Err(AppError::new(ErrorKind::Failed, "restless", "the vault keeps changing while it is read")
        .hint("try again when nothing else writes to it"))
}

impl RestoreDecisions {
    /// Adds a conflict for each file that another program edited between two of the changes, if its content would be
    /// replaced or removed and nothing is decided about it yet: its edit would be lost without a word otherwise.
    fn add_edits_between(&self, target: &UndoTarget, found: &mut RestorePlan) {
        for path in &target.edited_between {
            let is_decided = self.keep.contains(path) || self.overwrite.contains(path);
            if is_decided || found.conflicts.iter().any(|conflict| conflict.path == *path) {
                continue;
            }
            let is_of_path = |entry: &&RestoredEntry| {
                let loses_text = entry.before.map(|state| state.hash) != entry.after.map(|state| state.hash);
                loses_text && (entry.path == *path || entry.from.as_ref() == Some(path))
            };
            let Some(entry) = found.restored.iter().find(is_of_path) else { continue };
            found.conflicts.push(RestoreConflict {
                path: path.clone(),
                why: RestoreCause::Edited,
                can_overwrite: true,
                links: Vec::new(),
                expected_etag: None,
                current_etag: entry.before.map(|state| state.etag()),
                target: entry.after,
                current: entry.before,
            });
        }
    }
}

/// Returns a conflict as one sentence, with the path first.
pub fn conflict_words(target: &UndoTarget, conflict: &RestoreConflict) -> String {
    let is_between = conflict.expected_etag.is_none() && target.edited_between.contains(&conflict.path);
    match is_between {
        true => format!("`{}` was edited by another program between the changes to undo", conflict.path),
        false => conflict.words(),
    }
}

impl EditConflict<'_> {
    /// Returns the conflict as one sentence, with the path first and the later runs that changed it last.
    pub fn words(&self) -> String {
        words_with_runs(self.target, self.conflict, self.later)
    }

    /// Returns the command that undoes the later runs as well, if any of them changed the note.
    pub fn command_with_later(&self) -> Option<String> {
        let is_by_runs =
            self.later.iter().any(|run| run.can_be_undone() && run.has_changed(&self.conflict.path));
        is_by_runs.then(|| command_with_later(self.target)).flatten()
    }

    /// Returns the difference from the current content to the one that would be restored.
    pub fn difference(&self, style: TextStyle) -> Result<String, AppError> {
        let before = content(self.vault, &self.conflict.path)?;
        let after =
            self.conflict.target.as_ref().map(|state| stored(&self.target.folder, state)).transpose()?;
        let mut changes = DiffSet::new(DiffLimits::screen());
        changes.add(&FileDiff {
            path: &self.conflict.path,
            moved_from: None,
            before: before.as_deref(),
            after: after.as_deref(),
        });
        Ok(changes.render(style).join("\n"))
    }
}

fn words_with_runs(target: &UndoTarget, conflict: &RestoreConflict, later: &[LaterRun]) -> String {
    let mut words = conflict_words(target, conflict);
    for (number, run) in later.iter().filter(|run| run.has_changed(&conflict.path)).enumerate() {
        words += if number == 0 { ", by " } else { " and " };
        words += &format!("run {} ({})", run.run_id, run.goal);
    }
    words
}

/// Returns the command that undoes the target together with every later run that changed its files; `None` for a redo.
fn command_with_later(target: &UndoTarget) -> Option<String> {
    (target.verb == "Undo" && target.session.is_none())
        .then(|| format!("tollgate undo {} --with-later", target.run_id))
}

fn refused(target: &UndoTarget, conflicts: &[RestoreConflict], later: &[LaterRun]) -> AppError {
    let mut lines: Vec<String> = conflicts
        .iter()
        .take(LISTED_CONFLICTS)
        .map(|conflict| {
            let cannot = if conflict.can_overwrite { "" } else { " (can only be kept)" };
            format!("\n  {}{cannot}", escape_line(&words_with_runs(target, conflict, later)))
        })
        .collect();
    if conflicts.len() > LISTED_CONFLICTS {
        lines.push(format!("\n  and {} more", conflicts.len() - LISTED_CONFLICTS));
    }
    let number = match conflicts.len() {
        1 => "1 entry is".to_owned(),
        number => format!("{number} entries are"),
    };
    let is_by_run = |run: &&LaterRun| conflicts.iter().any(|conflict| run.has_changed(&conflict.path));
    let runs: Vec<&LaterRun> = later.iter().filter(is_by_run).collect();
    let with_later = command_with_later(target).filter(|_| runs.iter().any(|run| run.can_be_undone()));
    let together = with_later
        .map(|command| format!("`{command}` undoes the later runs of these notes too, newest first; "))
        .unwrap_or_default();
    let ids: Vec<&RunId> = runs.iter().map(|run| &run.run_id).collect();
    AppError::new(
        ErrorKind::Failed,
        "changed_since",
        format!("nothing was changed: {number} not as it was left{}", lines.concat()),
    )
    .hint(format!(
        "{together}--keep-changed leaves them as they are, --restore-changed restores those that can be and keeps what is \
         there now"
    ))
    .details(serde_json::json!({ "conflicts": conflicts, "laterRuns": ids }))
}
