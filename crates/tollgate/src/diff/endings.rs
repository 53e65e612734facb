//! What differs besides the text of the lines, said in words: line endings, the last newline, the mark at the
//! start. None of it can be seen in a line.

use similar::DiffOp;

use super::lines::{Ending, Lines};
use crate::visible::count;

/// The mark that some programs put before a text. It has no width, so a diff of it shows nothing.
const MARK: char = '\u{feff}';

/// Takes the mark away.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Which endings a text has. The open end of the last line is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Nothing,
    Lf,
    CrLf,
    Mixed,
}

impl Style {
    fn of(lines: &Lines<'_>) -> Style {
        match (lines.endings.contains(&Ending::Lf), lines.endings.contains(&Ending::CrLf)) {
            (false, false) => Style::Nothing,
            (true, false) => Style::Lf,
            (false, true) => Style::CrLf,
            (true, true) => Style::Mixed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Style::Nothing => "none",
            Style::Lf => "LF",
            Style::CrLf => "CRLF",
            Style::Mixed => "mixed LF and CRLF",
        }
    }
}

/// The mark at the start, when it comes or goes.
pub(super) fn mark_note(before: &str, after: &str) -> Option<String> {
    let note = match (before.starts_with(MARK), after.starts_with(MARK)) {
        (true, false) => "no byte order mark at the start any more",
        (false, true) => "a byte order mark at the start now",
        (true, true) | (false, false) => return None,
    };
    Some(note.to_owned())
}

/// The endings of the lines that stay, and of the files as a whole.
pub(super) fn ending_note(before: &Lines<'_>, after: &Lines<'_>, ops: &[DiffOp]) -> Option<String> {
    let (was, will_be) = (Style::of(before), Style::of(after));
    if was != will_be && was != Style::Nothing && will_be != Style::Nothing {
        return Some(format!("line endings change: {} -> {}", was.name(), will_be.name()));
    }
    let closed = |(a, b): &(&Ending, &Ending)| a != b && **a != Ending::Open && **b != Ending::Open;
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

/// The newline at the end of the file, when it comes or goes.
pub(super) fn end_note(before: &Lines<'_>, after: &Lines<'_>) -> Option<String> {
    let note = match (before.endings.last()?, after.endings.last()?) {
        (Ending::Lf | Ending::CrLf, Ending::Open) => "no newline at the end any more",
        (Ending::Open, Ending::Lf | Ending::CrLf) => "a newline at the end now",
        (Ending::Open, Ending::Open) | (Ending::Lf | Ending::CrLf, Ending::Lf | Ending::CrLf) => return None,
    };
    Some(note.to_owned())
}
