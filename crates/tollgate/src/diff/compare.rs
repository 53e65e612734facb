//! The comparison of one content with another.

use super::body::{Body, Content, Sizes, TextChange};
use super::endings::{end_note, ending_note, mark_note, without_mark};
use super::hunks::hunks;
use super::limits::Limits;
use super::lines::{Lines, ops, tally};
use crate::visible::count;

/// Compares a file as it is with the file as it would be. None: there is no such file.
pub(crate) fn compare(before: Option<&[u8]>, after: Option<&[u8]>, limits: &Limits) -> Body {
    if before == after {
        return Body::Same;
    }
    let content = |bytes: &[u8]| Content { bytes: bytes.len(), etag: vault::etag_of(bytes) };
    let sizes = || Sizes { before: before.map(content), after: after.map(content) };
    // A side that is not there compares like an empty one; the caller tells them apart by its own words.
    let (Some(old), Some(new)) = (text(before.unwrap_or_default()), text(after.unwrap_or_default())) else {
        return Body::Binary(sizes());
    };
    if old.len().saturating_add(new.len()) > limits.bytes {
        return Body::Large(sizes());
    }
    let mut change = compare_texts(old, new, limits);
    change.notes.extend(emptiness(before, after).map(str::to_owned));
    Body::Text(change)
}

/// What to say of a file that shows no lines because it has none.
fn emptiness(before: Option<&[u8]>, after: Option<&[u8]>) -> Option<&'static str> {
    match (before, after) {
        (None, Some([])) | (Some([]), None) => Some("the file is empty"),
        (Some(_), Some([])) => Some("nothing is left in the file"),
        (Some(_) | None, Some(_) | None) => None,
    }
}

/// A content with a NUL is not something to read, whatever its encoding says.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn compare_texts(before: &str, after: &str, limits: &Limits) -> TextChange {
    let (old, new) = (Lines::of(without_mark(before)), Lines::of(without_mark(after)));
    let ops = ops(&old.texts, &new.texts, limits.compared_lines);
    let mut change = match &ops {
        Some(ops) => hunks(&old.texts, &new.texts, ops, limits),
        None => only_counted(&old, &new),
    };
    // A file that comes or goes brings its endings along: they change nothing.
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

fn only_counted(old: &Lines<'_>, new: &Lines<'_>) -> TextChange {
    let (added_lines, removed_lines) = tally(&old.texts, &new.texts);
    let what = match (added_lines, removed_lines) {
        (0, 0) => "the same lines in another order".to_owned(),
        (added, removed) => format!("{} added, {removed} removed", count(added as u64, "line")),
    };
    let note = format!("too many lines to compare one by one: {what}");
    TextChange { added_lines, removed_lines, notes: vec![note], ..TextChange::default() }
}
