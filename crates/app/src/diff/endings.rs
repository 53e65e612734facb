//! Notes on differences that no line shows: line endings, the last newline, the byte order mark.

use similar::DiffOp;

use super::lines::{DiffLineEnding, TextLines};
use crate::display_text::count;

/// Byte order mark. It has no width, so a diff of it shows nothing.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the text without the mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Line endings of a text. The open end of the last line does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndingStyle {
    Nothing,
    Lf,
    CrLf,
    Mixed,
}

impl EndingStyle {
    fn of(lines: &TextLines<'_>) -> EndingStyle {
        match (lines.endings.contains(&DiffLineEnding::Lf), lines.endings.contains(&DiffLineEnding::CrLf)) {
            (false, false) => EndingStyle::Nothing,
            (true, false) => EndingStyle::Lf,
            (false, true) => EndingStyle::CrLf,
            (true, true) => EndingStyle::Mixed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            EndingStyle::Nothing => "none",
            EndingStyle::Lf => "LF",
            EndingStyle::CrLf => "CRLF",
            EndingStyle::Mixed => "mixed LF and CRLF",
        }
    }
}

/// Returns the note on an added or removed mark.
pub(super) fn mark_note(before: &str, after: &str) -> Option<String> {
    let note = match (before.starts_with(BYTE_ORDER_MARK), after.starts_with(BYTE_ORDER_MARK)) {
        (true, false) => "no byte order mark at the start any more",
        (false, true) => "a byte order mark at the start now",
        (true, true) | (false, false) => return None,
    };
    Some(note.to_owned())
}

/// Returns the note on changed endings: of the lines that stay, and of the files as a whole.
pub(super) fn ending_note(before: &TextLines<'_>, after: &TextLines<'_>, ops: &[DiffOp]) -> Option<String> {
    let (was, will_be) = (EndingStyle::of(before), EndingStyle::of(after));
    if was != will_be && was != EndingStyle::Nothing && will_be != EndingStyle::Nothing {
        return Some(format!("line endings change: {} -> {}", was.name(), will_be.name()));
    }
    let closed = |(a, b): &(&DiffLineEnding, &DiffLineEnding)| {
        a != b && **a != DiffLineEnding::Open && **b != DiffLineEnding::Open
    };
    let changed: usize = ops
        .iter()
        .filter(|op| matches!(op, DiffOp::Equal { .. }))
        .map(|op| {
            let (old, new) = (&before.endings[op.old_range()], &after.endings[op.new_range()]);
            old.iter().zip(new).filter(closed).count()
        })
        .sum();
    (changed > 0).then(|| format!("line endings change in {}", count(changed as u64, "line")))
}

/// Returns the note on an added or removed newline at the end of the file.
pub(super) fn end_note(before: &TextLines<'_>, after: &TextLines<'_>) -> Option<String> {
    let note = match (before.endings.last()?, after.endings.last()?) {
        (DiffLineEnding::Lf | DiffLineEnding::CrLf, DiffLineEnding::Open) => "no newline at the end any more",
        (DiffLineEnding::Open, DiffLineEnding::Lf | DiffLineEnding::CrLf) => "a newline at the end now",
        (DiffLineEnding::Open, DiffLineEnding::Open)
        | (DiffLineEnding::Lf | DiffLineEnding::CrLf, DiffLineEnding::Lf | DiffLineEnding::CrLf) => {
            return None;
        }
    };
    Some(note.to_owned())
}
