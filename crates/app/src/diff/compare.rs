//! Comparison of two contents.

use super::body::{ContentSize, ContentSizes, DiffBody, TextChange};
use super::endings::{end_note, ending_note, mark_note, without_mark};
use super::hunks::hunks;
use super::limits::DiffLimits;
use super::lines::{TextLines, ops, tally};
use crate::display_text::count;

/// Compares a file before and after. `None`: the file does not exist.
pub(super) fn compare(before: Option<&[u8]>, after: Option<&[u8]>, limits: &DiffLimits) -> DiffBody {
    if before == after {
        return DiffBody::Same;
    }
    let content = |bytes: &[u8]| ContentSize { bytes: bytes.len(), etag: vault::etag_of(bytes) };
    let sizes = || ContentSizes { before: before.map(content), after: after.map(content) };
    // A missing side compares like an empty one; the caller distinguishes them in its text.
    let (Some(old), Some(new)) = (as_text(before.unwrap_or_default()), as_text(after.unwrap_or_default()))
    else {
        return DiffBody::Binary(sizes());
    };
    if old.len().saturating_add(new.len()) > limits.bytes {
        return DiffBody::Large(sizes());
    }
    let mut change = compare_texts(old, new, limits);
    change.notes.extend(empty_note(before, after).map(str::to_owned));
    DiffBody::Text(change)
}

/// Returns the note for a file without lines to show.
fn empty_note(before: Option<&[u8]>, after: Option<&[u8]>) -> Option<&'static str> {
    match (before, after) {
        (None, Some([])) | (Some([]), None) => Some("the file is empty"),
        (Some(_), Some([])) => Some("nothing is left in the file"),
        (Some(_) | None, Some(_) | None) => None,
    }
}

/// Returns the content as text. `None` for invalid UTF-8 and for content with a NUL.
fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn compare_texts(before: &str, after: &str, limits: &DiffLimits) -> TextChange {
    let (old, new) = (TextLines::of(without_mark(before)), TextLines::of(without_mark(after)));
    let ops = ops(&old.texts, &new.texts, limits.compared_lines);
    let mut change = match &ops {
        Some(ops) => hunks(&old.texts, &new.texts, ops, limits),
        None => count_only(&old, &new),
    };
    // The endings of a created or deleted file do not count as a change.
    if before.is_empty() || after.is_empty() {
        return change;
    }
    let keeps_lines = change.hunks.is_empty() && change.left_out.is_none() && change.notes.is_empty();
    let endings = ending_note(&old, &new, ops.as_deref().unwrap_or_default());
    let others = [end_note(&old, &new), mark_note(before, after)];
    let nothing_else = others.iter().all(Option::is_none);
    change.notes.extend(endings.into_iter().chain(others.into_iter().flatten()));
    if keeps_lines {
        match change.notes.first_mut() {
            Some(endings) if nothing_else => endings.insert_str(0, "only "),
            Some(_) | None => change.notes.insert(0, "every line keeps its text".to_owned()),
        }
    }
    change
}

fn count_only(old: &TextLines<'_>, new: &TextLines<'_>) -> TextChange {
    let (added_lines, removed_lines) = tally(&old.texts, &new.texts);
    let what = match (added_lines, removed_lines) {
        (0, 0) => "the same lines in another order".to_owned(),
        (added, removed) => format!("{} added, {removed} removed", count(added as u64, "line")),
    };
    let note = format!("too many lines to compare one by one: {what}");
    TextChange { added_lines, removed_lines, notes: vec![note], ..TextChange::default() }
}
