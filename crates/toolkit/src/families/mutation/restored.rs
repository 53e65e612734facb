//! What was put back as it was, what was left as it is, and what stands in the way.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};

use crate::families::plain::{DRY_RUN, Receipt, is_zero, one_line, projected, room, taken};
use crate::families::{Projected, Projection};

/// What a tool put back, without bound.
pub struct Restored<'a> {
    /// How many changes were made.
    pub restored: u64,
    /// How many files and folders were already as they should be.
    pub already_so: u64,
    /// Files that were left as they are because the caller said so.
    pub kept: &'a [String],
    /// Folders that stay because something else is in them.
    pub left: &'a [String],
    /// What stands in the way, with the path and with words about it.
    pub conflicts: Vec<InTheWay>,
    pub dry_run: bool,
}

/// Something that was changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InTheWay {
    pub path: String,
    /// What happened to it, with the path.
    pub words: String,
    /// Whether it can be restored all the same.
    pub can_overwrite: bool,
}

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shown {
    restored: u64,
    already_so: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<InTheWay>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
    /// How many entries of these lists do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    truncated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Bounds what was put back. What stands in the way comes first.
pub fn project(complete: Restored<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let mut room = room(with.budget());
    let all = complete.conflicts.len() + complete.kept.len() + complete.left.len();
    let conflicts = taken(complete.conflicts, &mut room, conflict_words);
    let kept = taken(complete.kept, &mut room, |path| kept_words(path));
    let left = taken(complete.left, &mut room, |path| left_words(path));
    let left_out = (all - conflicts.len() - kept.len() - left.len()) as u64;
    let shown = Shown {
        restored: complete.restored,
        already_so: complete.already_so,
        conflicts,
        kept: kept.into_iter().cloned().collect(),
        left: left.into_iter().cloned().collect(),
        left_out,
        truncated: left_out > 0,
        dry_run: complete.dry_run,
    };
    projected(Family::Mutation, &shown)
}

pub(super) fn render(summary: &str, shown: &Shown, budget: usize) -> String {
    let mut receipt = Receipt::new(summary);
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
    receipt.with_most(0..=lines.len(), budget, |most, receipt| {
        lines.iter().take(most).for_each(|line| receipt.line(line));
        let left_out = shown.left_out + lines.len().saturating_sub(most) as u64;
        if left_out > 0 {
            receipt.line(&format!("… and {left_out} more"));
        }
    })
}

fn conflict_words(conflict: &InTheWay) -> String {
    let way_out = if conflict.can_overwrite { "keep or overwrite" } else { "only keep" };
    format!("In the way: {} ({way_out})", one_line(&conflict.words))
}

fn kept_words(path: &str) -> String {
    format!("Kept: {}", one_line(path))
}

fn left_words(path: &str) -> String {
    format!("Not empty and left: {}", one_line(path))
}
