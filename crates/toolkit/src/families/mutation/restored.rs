//! What was put back as it was, what was left as it is, and what stands in the way.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};

use crate::families::plain::{DRY_RUN, Receipt, cost, is_zero, one_line, projected, room};
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
pub fn project(complete: &Restored<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let mut room = room(with.budget());
    let all = complete.conflicts.len() + complete.kept.len() + complete.left.len();
    let conflicts = first(&complete.conflicts, &mut room, conflict_words);
    let kept = first(complete.kept, &mut room, kept_words);
    let left = first(complete.left, &mut room, left_words);
    let left_out = (all - conflicts.len() - kept.len() - left.len()) as u64;
    let shown = Shown {
        restored: complete.restored,
        already_so: complete.already_so,
        conflicts,
        kept,
        left,
        left_out,
        truncated: left_out > 0,
        dry_run: complete.dry_run,
    };
    projected(Family::Mutation, &shown)
}

/// As many of the first as there is room for.
fn first<T: Clone>(items: &[T], room: &mut usize, words: impl Fn(&T) -> String) -> Vec<T> {
    let fits = |item: &&T| {
        let cost = cost(&words(item));
        let fits = cost <= *room;
        *room = if fits { *room - cost } else { 0 };
        fits
    };
    items.iter().take_while(fits).cloned().collect()
}

pub(super) fn render(summary: &str, shown: &Shown, budget: usize) -> String {
    let mut receipt = Receipt::new(summary, budget);
    if shown.dry_run {
        receipt.line(DRY_RUN);
    }
    let mut room = receipt.room();
    let mut left_out = shown.left_out + (shown.conflicts.len() + shown.kept.len() + shown.left.len()) as u64;
    let lines =
        first(&shown.conflicts, &mut room, conflict_words).iter().map(conflict_words).collect::<Vec<_>>();
    let lines = lines
        .into_iter()
        .chain(first(&shown.kept, &mut room, kept_words).iter().map(kept_words).collect::<Vec<_>>());
    let lines =
        lines.chain(first(&shown.left, &mut room, left_words).iter().map(left_words).collect::<Vec<_>>());
    for line in lines {
        receipt.line(&line);
        left_out -= 1;
    }
    if left_out > 0 {
        receipt.line(&format!("… and {left_out} more"));
    }
    receipt.done()
}

fn conflict_words(conflict: &InTheWay) -> String {
    let way_out = if conflict.can_overwrite { "keep or overwrite" } else { "only keep" };
    format!("In the way: {} ({way_out})", one_line(&conflict.words))
}

fn kept_words(path: &String) -> String {
    format!("Kept: {}", one_line(path))
}

fn left_words(path: &String) -> String {
    format!("Not empty and left: {}", one_line(path))
}
