//! Obsidian's comments: `%%` to `%%`, on one line or several.
//!
//! Only comments of several lines are searched, because a heading or block does not fit into part of a line.
//! Such a comment opens at the start of a line; one that is never closed extends to the end of the note. `%%`
//! in code and in HTML has no meaning.

use std::ops::Range;

const MARK: &str = "%%";

/// Returns the comments of `note` from byte `start` on. `opaque` are the ranges where `%%` has no meaning, in
/// order of their starts.
pub(super) fn comments(note: &str, start: usize, opaque: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut opened: Option<usize> = None;
    let mut at = start;
    let mut opaque = opaque.iter().peekable();
    for line in note[start..].split_inclusive('\n') {
        for (offset, _) in line.match_indices(MARK) {
            let mark = at + offset;
            while opaque.next_if(|range| range.end <= mark).is_some() {}
            let hidden = opaque.peek().is_some_and(|range| range.contains(&mark));
            match opened {
                // A comment contains no code.
                Some(open) if mark >= open + MARK.len() => {
                    found.push(open..mark + MARK.len());
                    opened = None;
                }
                None if !hidden && line[..offset].trim().is_empty() => opened = Some(mark),
                Some(_) | None => {}
            }
        }
        at += line.len();
    }
    found.extend(opened.map(|open| open..note.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::comments;

    fn check(note: &str, expected: &[&str]) {
        let found: Vec<&str> = comments(note, 0, &[]).into_iter().map(|range| &note[range]).collect();
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
    fn a_mark_in_code_opens_nothing() {
        let code = "```\n%%\n```\n`%%`";
        assert!(comments(code, 0, &[0..10, 11..15]).is_empty());
    }
}
