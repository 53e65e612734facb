//! A line as a search tells it.

use std::ops::Range;

use toolkit::families::artifact::Found;

use super::window::window;

/// A line in the block that is being searched.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) line: u64,
    /// Where the line begins in the artifact.
    pub(super) at_byte: u64,
    /// What stands before this part of the line, of a line that is longer than a block.
    pub(super) before: u64,
    /// What matches in it; none for a line that is only near.
    pub(super) matched: Option<Range<usize>>,
}

impl Hit {
    /// `part` is the line without its end, or the part of it that is in the block.
    pub(super) fn found(&self, part: &[u8], shown: usize) -> Found {
        let shown = window(part, self.matched.as_ref().map_or(0, |range| range.start), shown);
        Found {
            line: self.line,
            at_byte: self.at_byte,
            matched: self.matched.is_some(),
            text: String::from_utf8_lossy(&part[shown.clone()]).into_owned(),
            left_out_before: self.before + shown.start as u64,
            left_out_after: (part.len() - shown.end) as u64,
        }
    }
}
