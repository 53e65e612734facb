//! Text that cannot be handed on yet, because it may be part of a block.

/// More room than this is given back as soon as nothing is held: thousands of streams may be open at once.
const KEPT_ROOM: usize = 4 << 10;

/// A buffer that is filled at its end and emptied at its front.
#[derive(Debug, Default)]
pub(super) struct Held {
    text: String,
    /// What stands before this is gone. Moving the rest for every step forward would make long blocks
    /// without an end quadratic.
    start: usize,
}

impl Held {
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

    /// Forgets the first bytes.
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
