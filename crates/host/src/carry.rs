//! Where a cursor goes when the text around it changes without it.
//!
//! A tool or another program hands over a whole new text. What differs is taken to be one change, between
//! the longest beginning and the longest end that both texts share; a place outside it stays with the
//! characters around it. Inside, lines that both texts have are found, and a place stays with its line.

use std::cell::OnceCell;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::document::Document;
use crate::position::{EditorRange, Position, utf16_len};

/// The one change between two texts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Difference {
    start: usize,
    old_end: usize,
    new_end: usize,
}

impl Difference {
    /// The smallest change that makes `new` of `old`.
    pub(crate) fn between(old: &str, new: &str) -> Difference {
        let start: usize =
            old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        let same = old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(|(a, b)| a == b);
        let tail: usize = same.map(|(c, _)| c.len_utf8()).sum();
        Difference { start, old_end: old.len() - tail, new_end: new.len() - tail }
    }

    /// Its end counts: the line that ends there may be found again.
    fn is_inside(self, offset: usize) -> bool {
        self.start < offset && offset <= self.old_end
    }

    fn carried(self, offset: usize) -> usize {
        if offset <= self.start {
            offset
        } else if offset >= self.old_end {
            offset - self.old_end + self.new_end
        } else {
            // The text around it is gone: as near as the new text lets it be.
            offset.min(self.new_end)
        }
    }
}

/// Lines of a change up to which they are compared: the worst case grows with the square.
const MAX_LINES: usize = 2_000;

/// Takes places from one text to the next.
pub(crate) struct Carry<'a> {
    old: &'a Document,
    new: &'a Document,
    difference: Difference,
    /// For each line of the old text that is inside the change, the line it became. Made when it is needed.
    lines: OnceCell<Vec<(u32, u32)>>,
}

impl<'a> Carry<'a> {
    pub(crate) fn new(old: &'a Document, new: &'a Document) -> Carry<'a> {
        Carry { old, new, difference: Difference::between(&old.text(), &new.text()), lines: OnceCell::new() }
    }

    pub(crate) fn place(&self, place: Position) -> Position {
        let offset = self.old.offset(place);
        let on_line =
            if self.difference.is_inside(offset) { self.place_on_line(place, offset) } else { None };
        on_line.unwrap_or_else(|| self.new.place(self.difference.carried(offset)))
    }

    /// The place on its own line, where that can be found in the new text.
    fn place_on_line(&self, place: Position, offset: usize) -> Option<Position> {
        let lines = self.lines.get_or_init(|| self.lines_kept());
        let (_, line) = lines.iter().find(|(old, _)| *old == place.line)?;
        let (old, new) = (self.old.line(place.line)?, self.new.line(*line)?);
        let start = self.old.offset(Position { line: place.line, ch: 0 });
        let within = Difference::between(old, new).carried(offset - start);
        Some(self.new.place(self.new.offset(Position { line: *line, ch: 0 }) + within))
    }

    /// The lines of the change that are the same in both texts, or changed in place.
    fn lines_kept(&self) -> Vec<(u32, u32)> {
        let Difference { start, old_end, new_end } = self.difference;
        let first = self.old.place(start).line;
        let between = |document: &'a Document, last: u32| -> Vec<&'a str> {
            (first..=last).filter_map(|line| document.line(line)).collect()
        };
        let old = between(self.old, self.old.place(old_end).line);
        let new = between(self.new, self.new.place(new_end).line);
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

/// What was replaced in the old text, where that ends in the new one, and how many units were put in.
pub(crate) fn replaced(old: &Document, new: &Document) -> (EditorRange, Position, u32) {
    let text = new.text();
    let Difference { start, old_end, new_end } = Difference::between(&old.text(), &text);
    let range = EditorRange { from: old.place(start), to: old.place(old_end) };
    (range, new.place(new_end), utf16_len(&text[start..new_end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{Carry, Difference};
    use crate::document::Document;

    /// `|` marks the cursor before and after.
    #[track_caller]
    fn check(before: &str, after: &str) {
        let (old, new) = (before.replace('|', ""), after.replace('|', ""));
        let (old_document, new_document) = (Document::parse(&old), Document::parse(&new));
        let cursor = old_document.place(before.find('|').unwrap());
        let carried = Carry::new(&old_document, &new_document).place(cursor);
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
            let Difference { start, old_end, new_end } = Difference::between(&old, &new);
            let made = format!("{}{}{}", &old[..start], &new[start..new_end], &old[old_end..]);
            prop_assert_eq!(made, new);
        }
    }
}
