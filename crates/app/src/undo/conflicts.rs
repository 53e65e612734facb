//! Decisions about notes that were edited since the run.

use std::sync::Arc;

use envelope::{Fault, Timestamp, VaultChange};
use journal::RunFolder;
use vault::{RestoreChoices, RestoreConflict, RestorePlan, Vault, plan_link_updates, plan_restore};

use super::target::UndoScope;
use super::undo_preview::{content, stored};
use crate::diff::{DiffLimits, DiffSet, FileDiff};
use crate::display_text::escape_line;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::null_context::NullContext;
use crate::text_style::TextStyle;

/// Conflicts named in an error; the JSON answer has them all.
const LISTED_CONFLICTS: usize = 20;

/// Asks about one conflict; `None` if the user cannot be asked. An error ends the undo.
pub type AskConflict<'a> = dyn Fn(&EditConflict<'_>) -> Result<Option<ConflictChoice>, AppError> + 'a;

/// A note that differs from how the run left it.
pub struct EditConflict<'a> {
    pub conflict: &'a RestoreConflict,
    vault: &'a Vault,
    folder: &'a RunFolder,
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
        (changes, since): (&[VaultChange], Timestamp),
        scope: &UndoScope,
        policy: ConflictPolicy<'_>,
    ) -> Result<RestorePlan, AppError> {
        let UndoScope { only, keep: leave } = scope;
        let choices = RestoreChoices { only, leave, keep: &self.keep, overwrite: &self.overwrite };
        let unreadable = |fault: Fault| AppError::io("read the vault", fault.message);
        let mut found = plan_restore(vault, changes, choices, &NullContext).map_err(unreadable)?;
        // Which files move is known when every conflict is decided.
        if found.conflicts.is_empty() || matches!(policy, ConflictPolicy::Report) {
            plan_link_updates(vault, &mut found, choices, since, &NullContext).map_err(unreadable)?;
        }
        Ok(found)
    }
}

/// Plans the restore with a decision about every conflict. One decision can cause the next conflict: a note that is kept
/// blocks its name for others.
pub(super) fn decide_conflicts(
    (vault, folder): (&Arc<Vault>, &RunFolder),
    (changes, since): (&[VaultChange], Timestamp),
    scope: &UndoScope,
    policy: ConflictPolicy<'_>,
) -> Result<RestorePlan, AppError> {
    let mut decided = RestoreDecisions::default();
    // Each round decides about at least one change, so there are at most as many rounds as changes; one more decides about
    // links.
    for _ in 0..=changes.len() + 1 {
        let found = decided.foresee(vault, (changes, since), scope, policy)?;
        if found.conflicts.is_empty() || matches!(policy, ConflictPolicy::Report) {
            return Ok(found);
        }
        for conflict in &found.conflicts {
            match (policy, conflict.can_overwrite) {
                // A note that cannot be restored is always kept: the undo could not continue otherwise.
                (ConflictPolicy::Keep, _) | (ConflictPolicy::Restore, false) => {
                    decided.keep.push(conflict.path.clone());
                }
                (ConflictPolicy::Restore, true) => decided.overwrite.push(conflict.path.clone()),
                (ConflictPolicy::Ask(ask), _) => match ask(&EditConflict { conflict, vault, folder })? {
                    Some(ConflictChoice::Keep) => decided.keep.push(conflict.path.clone()),
                    Some(ConflictChoice::Restore) => decided.overwrite.push(conflict.path.clone()),
                    None => return Err(refused(&found.conflicts)),
                },
                (ConflictPolicy::Refuse | ConflictPolicy::Report, _) => {
                    return Err(refused(&found.conflicts));
                }
            }
        }
    }
    Err(AppError::new(ErrorKind::Failed, "restless", "the vault keeps changing while it is read")
        .hint("try again when nothing else writes to it"))
}

impl EditConflict<'_> {
    /// Returns the difference from the current content to the one that would be restored.
    pub fn difference(&self, style: TextStyle) -> Result<String, AppError> {
        let before = content(self.vault, &self.conflict.path)?;
        let after = self.conflict.target.as_ref().map(|state| stored(self.folder, state)).transpose()?;
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

fn refused(conflicts: &[RestoreConflict]) -> AppError {
    let mut lines: Vec<String> = conflicts
        .iter()
        .take(LISTED_CONFLICTS)
        .map(|conflict| {
            let cannot = if conflict.can_overwrite { "" } else { " (can only be kept)" };
            format!("\n  {}{cannot}", escape_line(&conflict.words()))
        })
        .collect();
    if conflicts.len() > LISTED_CONFLICTS {
        lines.push(format!("\n  and {} more", conflicts.len() - LISTED_CONFLICTS));
    }
    let number = match conflicts.len() {
        1 => "1 entry is".to_owned(),
        number => format!("{number} entries are"),
    };
    AppError::new(
        ErrorKind::Failed,
        "changed_since",
        format!("nothing was changed: {number} not as it was left{}", lines.concat()),
    )
    .hint(
        "--keep-changed leaves them as they are, --restore-changed restores those that can be and keeps what is \
         there now",
    )
    .details(serde_json::json!({ "conflicts": conflicts }))
}
