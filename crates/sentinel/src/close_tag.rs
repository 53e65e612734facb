//! Incremental search for a literal close tag: every byte is scanned once, however the text is split and however many
//! blocks are rejected.

use memchr::memchr;

pub(super) const CLOSE: &str = "</tool_call>";

/// The state of the search.
#[derive(Debug, Default)]
pub(super) struct CloseTag {
    /// No close tag ends before this index, counted from the start of the buffered text.
    searched: usize,
    /// How many bytes before it match the start of a tag.
    matched: usize,
}

impl CloseTag {
    /// Returns the end of the first close tag after `from`, and how many bytes were scanned.
    ///
    /// `from` must not decrease, and a tag that was found is not found again.
    pub(super) fn find(&mut self, text: &[u8], from: usize) -> (Option<usize>, usize) {
        if from > self.searched {
            (self.searched, self.matched) = (from, 0);
        }
        let start = self.searched;
        while let Some(rest) = text.get(self.searched..).filter(|rest| !rest.is_empty()) {
            if self.matched == 0 {
                let ahead = memchr(b'<', rest).unwrap_or(rest.len());
                self.searched += ahead;
                if ahead < rest.len() {
                    self.matched = 1;
                    self.searched += 1;
                }
            } else if rest[0] == CLOSE.as_bytes()[self.matched] {
                self.matched += 1;
                self.searched += 1;
            } else {
                // The tag contains one `<`, so a partial match cannot contain the start of another.
                self.matched = 0;
            }
            if self.matched == CLOSE.len() {
                self.matched = 0;
                return (Some(self.searched), self.searched - start);
            }
        }
        (None, self.searched - start)
    }

    /// Adjusts to the removal of the first bytes of the buffer.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.searched = self.searched.saturating_sub(bytes);
    }
}
