//! Finds the frontmatter block of a note.
//!
//! The first line is `---`; the line that closes the block is `---`, as in Obsidian, or `...`, as YAML allows.
//! Spaces can follow; only a byte order mark can precede the first line. A block that is never closed is ordinary
//! text.

use std::ops::Range;

/// Byte ranges of a note's frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontmatterBlock {
    /// From the opening fence to the end of the line with the closing fence.
    pub(crate) outer: Range<usize>,
    /// The lines between the fences.
    pub(crate) body: Range<usize>,
}

const MARK: char = '\u{feff}';

/// Returns the byte offset where the note begins, after a byte order mark if there is one.
pub(crate) fn note_start(note: &str) -> usize {
    if note.starts_with(MARK) { MARK.len_utf8() } else { 0 }
}

/// Returns the frontmatter block of `note`, if it has one.
pub(crate) fn find(note: &str) -> Option<FrontmatterBlock> {
    let start = note_start(note);
    let first = note[start..].split_inclusive('\n').next()?;
    if !is_fence(first) || !first.ends_with('\n') {
        return None;
    }
    let body = start + first.len();
    let mut at = body;
    for line in note[body..].split_inclusive('\n') {
        if is_fence(line) || trimmed(line) == "..." {
            return Some(FrontmatterBlock { outer: start..at + line.len(), body: body..at });
        }
        at += line.len();
    }
    None
}

/// Returns the byte offset of the text below the frontmatter.
pub(crate) fn text_start(note: &str) -> usize {
    find(note).map_or_else(|| note_start(note), |block| block.outer.end)
}

fn is_fence(line: &str) -> bool {
    trimmed(line) == "---"
}

fn trimmed(line: &str) -> &str {
    line.trim_end_matches([' ', '\t', '\r', '\n'])
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
            ("---\na: 1\n... \ntext\n---\n", Some("a: 1\n")),
            ("---\na: |\n  ...\n---\n", Some("a: |\n  ...\n")),
            ("...\na: 1\n---\n", None),
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
