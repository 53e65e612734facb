//! Where a cursor goes when the text around it changes without it.
//!
//! A tool or another program hands over a whole new text. What differs is taken to be one change, between
//! the longest beginning and the longest end that both texts share; a place outside it stays with the
//! characters around it.

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

/// Takes places from one text to the next.
pub(crate) struct Carry<'a> {
    old: &'a Document,
    new: &'a Document,
    difference: Difference,
}

impl<'a> Carry<'a> {
    pub(crate) fn new(old: &'a Document, new: &'a Document) -> Carry<'a> {
        Carry { old, new, difference: Difference::between(&old.text(), &new.text()) }
    }

    pub(crate) fn place(&self, place: Position) -> Position {
        self.new.place(self.difference.carried(self.old.offset(place)))
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
