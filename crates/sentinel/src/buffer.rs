//! A buffer for text that may be part of a block.

/// The capacity above which an empty buffer is shrunk: thousands of streams may be open at once.
const KEPT_ROOM: usize = 4 << 10;

/// A buffer that is filled at its end and emptied at its front.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    text: String,
    /// Text before this index was consumed. Moving the rest at every step would make long unterminated blocks
    /// quadratic.
    start: usize,
}

impl TextBuffer {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.text.len() - self.start
    }

    #[inline]
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text[self.start..]
    }

    /// Drops the first bytes.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start == self.text.len() {
            self.text.clear();
            self.start = 0;
            self.text.shrink_to(KEPT_ROOM);
        } else if self.start > self.text.len() / 2 {
            self.text.drain(..self.start);
            self.start = 0;
        }
    }
}
