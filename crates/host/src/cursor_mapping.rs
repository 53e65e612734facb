//! Maps cursors from one text of a note to the next.
//!
//! A tool or another program replaces the whole text. The difference is taken to be one change, between the longest
//! common prefix and the longest common suffix; a position outside it stays with the characters around it. Inside,
//! common lines are matched, and a position stays with its line.

use std::cell::OnceCell;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::document::NoteDocument;
use crate::position::{EditorPosition, EditorRange, utf16_len};

/// The one change between two texts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextDifference {
    start: usize,
    old_end: usize,
    new_end: usize,
}

impl TextDifference {
    /// Returns the smallest change from `old` to `new`.
    pub(crate) fn between(old: &str, new: &str) -> TextDifference {
        let start: usize =
            old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        let same = old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(|(a, b)| a == b);
        let tail: usize = same.map(|(c, _)| c.len_utf8()).sum();
        TextDifference { start, old_end: old.len() - tail, new_end: new.len() - tail }
    }

    /// Returns true for an offset in the change, including its end: the line that ends there can be matched.
    fn is_inside(self, offset: usize) -> bool {
        self.start < offset && offset <= self.old_end
    }

    fn map_offset(self, offset: usize) -> usize {
        if offset <= self.start {
            offset
        } else if offset >= self.old_end {
            offset - self.old_end + self.new_end
        } else {
            // The text around it is gone: the nearest offset in the new text.
            offset.min(self.new_end)
        }
    }
}

/// Largest change whose lines are matched: the worst case is quadratic.
const MAX_LINES: usize = 2_000;

/// Mapping of positions from one text to the next.
pub(crate) struct CursorMapping<'a> {
    old: &'a NoteDocument,
    new: &'a NoteDocument,
    difference: TextDifference,
    /// Pairs of matching lines inside the change. Computed when needed.
    lines: OnceCell<Vec<(u32, u32)>>,
}

impl<'a> CursorMapping<'a> {
    pub(crate) fn new(old: &'a NoteDocument, new: &'a NoteDocument) -> CursorMapping<'a> {
        CursorMapping {
            old,
            new,
            difference: TextDifference::between(&old.text(), &new.text()),
            lines: OnceCell::new(),
        }
    }

    pub(crate) fn map_position(&self, place: EditorPosition) -> EditorPosition {
        let offset = self.old.offset(place);
        let on_line =
            if self.difference.is_inside(offset) { self.map_within_line(place, offset) } else { None };
        on_line.unwrap_or_else(|| self.new.position_at(self.difference.map_offset(offset)))
    }

    /// Maps a position within its line. Returns `None` if the line has no match in the new text.
    fn map_within_line(&self, place: EditorPosition, offset: usize) -> Option<EditorPosition> {
        let lines = self.lines.get_or_init(|| self.matching_lines());
        let (_, line) = lines.iter().find(|(old, _)| *old == place.line)?;
        let (old, new) = (self.old.line(place.line)?, self.new.line(*line)?);
        let start = self.old.offset(EditorPosition { line: place.line, ch: 0 });
        let within = TextDifference::between(old, new).map_offset(offset - start);
        Some(self.new.position_at(self.new.offset(EditorPosition { line: *line, ch: 0 }) + within))
    }

    /// Returns the lines of the change that are equal in both texts, or changed in place.
    fn matching_lines(&self) -> Vec<(u32, u32)> {
        let TextDifference { start, old_end, new_end } = self.difference;
        let first = self.old.position_at(start).line;
        let between = |document: &'a NoteDocument, last: u32| -> Vec<&'a str> {
            (first..=last).filter_map(|line| document.line(line)).collect()
        };
        let old = between(self.old, self.old.position_at(old_end).line);
        let new = between(self.new, self.new.position_at(new_end).line);
        if old.len().max(new.len()) > MAX_LINES {
            return Vec::new();
        }
        let mut kept = Vec::new();
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            let (old, new, count) = match op {
                DiffOp::Equal { old_index, new_index, len } => (old_index, new_index, len),
                DiffOp::Replace { old_index, old_len, new_index, new_len } if old_len == new_len => {
                    (old_index, new_index, old_len)
                }
                DiffOp::Replace { .. } | DiffOp::Delete { .. } | DiffOp::Insert { .. } => continue,
            };
            let number = |index: usize| first + u32::try_from(index).unwrap_or(u32::MAX);
            kept.extend((0..count).map(|line| (number(old + line), number(new + line))));
        }
        kept
    }
}

/// Returns the replaced range of the old text, the end of its replacement in the new one, and the length of the
/// replacement in UTF-16 units.
pub(crate) fn replaced_range(old: &NoteDocument, new: &NoteDocument) -> (EditorRange, EditorPosition, u32) {
    let text = new.text();
    let TextDifference { start, old_end, new_end } = TextDifference::between(&old.text(), &text);
    let range = EditorRange { from: old.position_at(start), to: old.position_at(old_end) };
    (range, new.position_at(new_end), utf16_len(&text[start..new_end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{CursorMapping, TextDifference};
    use crate::document::NoteDocument;

    /// `|` marks the cursor before and after.
    #[track_caller]
    fn check(before: &str, after: &str) {
        let (old, new) = (before.replace('|', ""), after.replace('|', ""));
        let (old_document, new_document) = (NoteDocument::parse(&old), NoteDocument::parse(&new));
        let cursor = old_document.position_at(before.find('|').unwrap());
        let carried = CursorMapping::new(&old_document, &new_document).map_position(cursor);
        let mut shown = new;
        shown.insert(new_document.offset(carried), '|');
        assert_eq!(shown, after);
    }

    #[test]
    fn a_cursor_stays_with_the_text_around_it() {
        check("one\ntwo| three\n", "zero\none\ntwo| three\n");
        check("one\ntwo| three\n", "one\ntwo| three and more\n");
        check("ab|cd", "aXb|cd");
        check("a😀|b", "日本\na😀|b");
        check("keep |this", "keep |");
        check("a long line|, cut", "a lo|");
        check("one\ntw|o\nthree", "- one\n- tw|o\n- three");
        check("one\ntwo| three\n", "zero\none\ntwo| three\nfour\n");
        check("a\nb\nc|c\nd\n", "x\na\nc|c\ny\nd\nz\n");
    }

    proptest! {
        #[test]
        fn the_difference_is_the_whole_difference(old in "[ab😀\n]{0,12}", new in "[ab😀\n]{0,12}") {
            let TextDifference { start, old_end, new_end } = TextDifference::between(&old, &new);
            let made = format!("{}{}{}", &old[..start], &new[start..new_end], &old[old_end..]);
            prop_assert_eq!(made, new);
        }
    }
}
