//! Report of an undo: restored changes, files that were kept, and conflicts.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};

use crate::families::receipt_writer::{DRY_RUN, ReceiptWriter, is_zero, one_line, take_within};
use crate::families::{ProjectedResult, Projection, project_within};

/// Complete output of an undo.
pub struct RestoreReport<'a> {
    /// Number of restored changes.
    pub restored: u64,
    /// Number of files and folders that already had the right state.
    pub already_so: u64,
    /// Files that were kept at the caller's request.
    pub kept: &'a [String],
    /// Folders that were kept because they contain other files.
    pub left: &'a [String],
    /// Conflicts with later changes.
    pub conflicts: Vec<ConflictEntry>,
    pub dry_run: bool,
}

/// A file that was changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictEntry {
    pub path: String,
    /// Description of the conflict, with the path.
    pub words: String,
    /// True if it can be restored anyway.
    pub can_overwrite: bool,
}

/// The report in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BoundedRestore {
    restored: u64,
    already_so: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<ConflictEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
    /// Number of entries missing in these lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    truncated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Bounds the report of an undo. Conflicts come first.
pub fn project(complete: RestoreReport<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let all = complete.conflicts.len() + complete.kept.len() + complete.left.len();
    project_within(ReceiptFamily::Mutation, with, |mut room| {
        let conflicts = take_within(complete.conflicts.clone(), &mut room, conflict_words);
        let kept = take_within(complete.kept, &mut room, |path| kept_words(path));
        let left = take_within(complete.left, &mut room, |path| left_words(path));
        let left_out = (all - conflicts.len() - kept.len() - left.len()) as u64;
        BoundedRestore {
            restored: complete.restored,
            already_so: complete.already_so,
            conflicts,
            kept: kept.into_iter().cloned().collect(),
            left: left.into_iter().cloned().collect(),
            left_out,
            truncated: left_out > 0,
            dry_run: complete.dry_run,
        }
    })
}

pub(super) fn render(summary: &str, shown: &BoundedRestore, budget: usize) -> String {
    let mut receipt = ReceiptWriter::new(summary);
    if shown.dry_run {
        receipt.line(DRY_RUN);
    }
    let lines: Vec<String> = shown
        .conflicts
        .iter()
        .map(conflict_words)
        .chain(shown.kept.iter().map(|path| kept_words(path)))
        .chain(shown.left.iter().map(|path| left_words(path)))
        .collect();
    receipt.render_most(0..=lines.len(), budget, |most, receipt| {
        lines.iter().take(most).for_each(|line| receipt.line(line));
        let left_out = shown.left_out + lines.len().saturating_sub(most) as u64;
        if left_out > 0 {
            receipt.line(&format!("… and {left_out} more"));
        }
    })
}

fn conflict_words(conflict: &ConflictEntry) -> String {
    let choice = if conflict.can_overwrite { "keep or overwrite" } else { "only keep" };
    format!("Conflict: {} ({choice})", one_line(&conflict.words))
}

fn kept_words(path: &str) -> String {
    format!("Kept: {}", one_line(path))
}

fn left_words(path: &str) -> String {
    format!("Kept, not empty: {}", one_line(path))
}
