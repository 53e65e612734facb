//! The search for a literal close tag, which looks at every byte once however the text is cut and however many
//! blocks are given up on the way.

use memchr::memchr;

pub(super) const CLOSE: &str = "</tool_call>";

/// How far the search has come.
#[derive(Debug, Default)]
pub(super) struct CloseTag {
    /// No close tag ends before this, counted from the beginning of what is held.
    searched: usize,
    /// So many bytes before that place may be the beginning of one.
    matched: usize,
}

impl CloseTag {
    /// Where the first close tag behind `from` ends, and how many bytes were looked at.
    ///
    /// Places to search from must not go back, and a tag that was found is not searched for again.
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
                // The tag has one `<` only, so nothing that matched can begin another.
                self.matched = 0;
            }
            if self.matched == CLOSE.len() {
                self.matched = 0;
                return (Some(self.searched), self.searched - start);
            }
        }
        (None, self.searched - start)
    }

    /// The first bytes of what is held are gone.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.searched = self.searched.saturating_sub(bytes);
    }
}
