//! Where the frontmatter of a note is.
//!
//! As in Obsidian: the first line is `---`, and so is the line that closes the block. Spaces may follow the
//! dashes, nothing may stand before them but a byte order mark. A block that is never closed is none.

use std::ops::Range;

/// The places of a note's frontmatter, in bytes of the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::edit) struct Block {
    /// From the first fence to the end of the last one's line.
    pub(in crate::edit) outer: Range<usize>,
    /// The lines between the fences.
    pub(in crate::edit) body: Range<usize>,
}

const MARK: char = '\u{feff}';

/// Where a note begins: behind the byte order mark, if it has one.
pub(in crate::edit) fn note_start(note: &str) -> usize {
    if note.starts_with(MARK) { MARK.len_utf8() } else { 0 }
}

/// The frontmatter of `note`.
pub(in crate::edit) fn find(note: &str) -> Option<Block> {
    let start = note_start(note);
    let first = note[start..].split_inclusive('\n').next()?;
    if !is_fence(first) || !first.ends_with('\n') {
        return None;
    }
    let body = start + first.len();
    let mut at = body;
    for line in note[body..].split_inclusive('\n') {
        if is_fence(line) {
            return Some(Block { outer: start..at + line.len(), body: body..at });
        }
        at += line.len();
    }
    None
}

/// Where the text below the frontmatter begins.
pub(in crate::edit) fn text_start(note: &str) -> usize {
    find(note).map_or_else(|| note_start(note), |block| block.outer.end)
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t', '\r', '\n']) == "---"
}

#[cfg(test)]
mod tests {
    use super::{find, text_start};

    #[test]
    fn only_a_closed_block_on_the_first_line_is_frontmatter() {
        for (note, body) in [
            ("---\na: 1\n---\ntext", Some("a: 1\n")),
            ("\u{feff}--- \r\na: 1\r\n---", Some("a: 1\r\n")),
            ("---\n---\n", Some("")),
            ("---\na: |\n  ---\n---\n", Some("a: |\n  ---\n")),
            ("\n---\na: 1\n---\n", None),
            ("---\na: 1\n", None),
            ("---", None),
            ("----\na: 1\n---\n", None),
            (" ---\na: 1\n---\n", None),
            ("", None),
        ] {
            let found = find(note);
            assert_eq!(found.clone().map(|block| &note[block.body]), body, "{note:?}");
            if let Some(block) = found {
                assert_eq!(text_start(note), block.outer.end);
            }
        }
    }
}
