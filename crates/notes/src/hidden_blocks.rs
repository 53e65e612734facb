//! Obsidian's comments (`%%` to `%%`) and blocks of math (`$$` to `$$`), on one line or several.
//!
//! Markdown knows neither: it finds headings, lists and links in them. Only those that begin at the start of a
//! line are searched, because a heading or block does not fit into part of a line. A comment that is never closed
//! extends to the end of the note; `$$` that is never closed is ordinary text. In code and in HTML neither has a
//! meaning, and inside of one the mark of the other has none.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenKind {
    Comment,
    Math,
}

/// A comment or a block of math, with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HiddenBlock {
    pub(crate) kind: HiddenKind,
    pub(crate) range: Range<usize>,
}

const MARK_LENGTH: usize = 2;

/// Returns the comments and blocks of math of `note` from byte `start` on. `opaque` are the ranges where the marks
/// have no meaning, in order of their starts.
pub(crate) fn hidden_blocks(note: &str, start: usize, opaque: &[Range<usize>]) -> Vec<HiddenBlock> {
    let mut found = Vec::new();
    let mut opened = scan(note, start, opaque, &[HiddenKind::Comment, HiddenKind::Math], &mut found);
    if let Some((HiddenKind::Math, open)) = opened {
        // No `$$` follows.
        opened = scan(note, open + MARK_LENGTH, opaque, &[HiddenKind::Comment], &mut found);
    }
    found.extend(opened.map(|(kind, open)| HiddenBlock { kind, range: open..note.len() }));
    found
}

/// Adds the closed blocks, and returns the last one if it is not closed.
fn scan(
    note: &str,
    start: usize,
    opaque: &[Range<usize>],
    kinds: &[HiddenKind],
    found: &mut Vec<HiddenBlock>,
) -> Option<(HiddenKind, usize)> {
    let mut opened: Option<(HiddenKind, usize)> = None;
    let mut opaque = opaque.iter().peekable();
    let mut at = start;
    for line in note[start..].split_inclusive('\n') {
        // The first line may be the rest of one.
        let line_begins = at == 0 || note[..at].ends_with('\n') || note[..at].ends_with('\u{feff}');
        let indent = line.len() - line.trim_start().len();
        let mut from = 0;
        while let Some((offset, kind)) = next_mark(line, from, kinds) {
            from = offset + MARK_LENGTH;
            let mark = at + offset;
            while opaque.next_if(|range| range.end <= mark).is_some() {}
            let has_no_meaning = opaque.peek().is_some_and(|range| range.contains(&mark));
            match opened {
                // Neither contains code.
                Some((open_kind, open)) if open_kind == kind => {
                    found.push(HiddenBlock { kind, range: open..mark + MARK_LENGTH });
                    opened = None;
                }
                None if !has_no_meaning && line_begins && offset <= indent => {
                    opened = Some((kind, mark));
                }
                Some(_) | None => {}
            }
        }
        at += line.len();
    }
    opened
}

fn next_mark(line: &str, from: usize, kinds: &[HiddenKind]) -> Option<(usize, HiddenKind)> {
    // One pass for all kinds: a search for each would read the rest of the line again at every mark of the other.
    let (bytes, last) = (line.as_bytes(), line.len().saturating_sub(MARK_LENGTH - 1));
    (from..last).find_map(|at| {
        let kind = kinds.iter().find(|kind| bytes[at..].starts_with(kind.mark().as_bytes()))?;
        Some((at, *kind))
    })
}

impl HiddenKind {
    fn mark(self) -> &'static str {
        match self {
            HiddenKind::Comment => "%%",
            HiddenKind::Math => "$$",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::hidden_blocks;

    fn check(note: &str, expected: &[&str]) {
        let found: Vec<&str> =
            hidden_blocks(note, 0, &[]).into_iter().map(|block| &note[block.range]).collect();
        assert_eq!(found, expected, "{note:?}");
    }

    #[test]
    fn a_comment_opens_at_the_start_of_a_line_and_closes_anywhere() {
        check("a\n%%\n# no\n%%\nb", &["%%\n# no\n%%"]);
        check("%%one line%%\nb", &["%%one line%%"]);
        check("100%% sure\n# yes", &[]);
        check("%% open\n# no\nthe end %% more", &["%% open\n# no\nthe end %%"]);
        check("%% never\n# closed", &["%% never\n# closed"]);
        check("%%%%\nb", &["%%%%"]);
    }

    #[test]
    fn math_opens_at_the_start_of_a_line_and_counts_only_when_it_is_closed() {
        check("a\n$$\n# no\n\nb\n$$\nb", &["$$\n# no\n\nb\n$$"]);
        check("  $$x$$ $$\n# yes", &["$$x$$"]);
        check("costs $$\n# yes\n$$x$$", &["$$x$$"]);
        check("$$\n# yes\n%%\n# no\n%%\n", &["%%\n# no\n%%"]);
        check("$$\n%%\n$$\n%%\n$$\n%%\n", &["$$\n%%\n$$", "%%\n$$\n%%"]);
    }

    #[test]
    fn a_line_of_marks_is_read_once() {
        let marks = "%%".repeat(1_000_000);
        assert_eq!(hidden_blocks(&marks, 0, &[]).len(), 1);
        assert_eq!(hidden_blocks(&format!("x{marks}"), 0, &[]).len(), 0);
    }

    #[test]
    fn a_mark_in_code_opens_nothing() {
        let code = "```\n%%\n$$\n```\n`%%`";
        assert!(hidden_blocks(code, 0, &[0..13, 14..18]).is_empty());
    }
}
