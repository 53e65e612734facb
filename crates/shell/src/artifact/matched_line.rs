//! Lines of a search result, shortened around their match.

use std::ops::Range;

use receipts::families::artifact::GrepLine;

/// A line in the block that is being searched.
#[derive(Debug, Clone)]
pub(super) struct MatchedLine {
    pub(super) line: u64,
    /// Where the line begins in the artifact.
    pub(super) at_byte: u64,
    /// Bytes of the line before this block, for a line that is longer than a block.
    pub(super) before: u64,
    /// The match; `None` for a line of context.
    pub(super) matched: Option<Range<usize>>,
}

impl MatchedLine {
    /// Converts the line. `part` is the line without its end, or the part of it in the block.
    pub(super) fn to_grep_line(&self, part: &[u8], shown: usize) -> GrepLine {
        let shown = window_around(part, self.matched.as_ref().map_or(0, |range| range.start), shown);
        GrepLine {
            line: self.line,
            at_byte: self.at_byte,
            matched: self.matched.is_some(),
            text: String::from_utf8_lossy(&part[shown.clone()]).into_owned(),
            left_out_before: self.before + shown.start as u64,
            left_out_after: (part.len() - shown.end) as u64,
        }
    }
}

/// Returns a part of at most `most` bytes, from a little before `at`.
fn window_around(line: &[u8], at: usize, most: usize) -> Range<usize> {
    if line.len() <= most {
        return 0..line.len();
    }
    let start = at.saturating_sub(most / 4).min(line.len() - most);
    boundary(line, start)..boundary(line, start + most)
}

/// The next position at which a character can begin.
fn boundary(line: &[u8], at: usize) -> usize {
    let goes_on = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    at + line[at..].iter().take(3).take_while(|byte| goes_on(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::window_around;

    #[test]
    fn a_long_line_is_shown_around_the_match() {
        let line = "é".repeat(50);
        assert_eq!(window_around(line.as_bytes(), 60, 200), 0..100);
        assert_eq!(window_around(line.as_bytes(), 0, 20), 0..20);
        assert_eq!(window_around(line.as_bytes(), 60, 21), 56..76);
        assert_eq!(window_around(line.as_bytes(), 99, 20), 80..100);
    }
}
