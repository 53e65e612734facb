//! The members of the outermost object, by their places in the text.

use std::ops::Range;

/// More members than this are no call. It bounds what is remembered of a block.
pub(in crate::sentinel) const MOST_MEMBERS: usize = 16;

/// A member that is complete.
#[derive(Debug, Clone)]
pub(in crate::sentinel) struct Member {
    /// Without the quotes.
    pub(in crate::sentinel) key: Range<usize>,
    /// Without the quotes as well, if it is a string.
    pub(in crate::sentinel) value: Range<usize>,
    pub(in crate::sentinel) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sentinel) enum Kind {
    Text,
    Object,
    Other,
}

#[derive(Debug, Default)]
pub(in crate::sentinel) struct Members {
    complete: Vec<Member>,
    has_more: bool,
    key: Range<usize>,
    /// Where the value at hand begins, and what it is.
    value: Option<(usize, Kind)>,
}

impl Members {
    pub(in crate::sentinel) fn complete(&self) -> &[Member] {
        &self.complete
    }

    /// Whether there are more than are remembered.
    pub(in crate::sentinel) fn has_more(&self) -> bool {
        self.has_more
    }

    /// None, in the same room.
    pub(super) fn cleared(mut self) -> Members {
        self.complete.clear();
        Members { complete: self.complete, ..Members::default() }
    }

    pub(super) fn key_begins(&mut self, at: usize) {
        self.key.start = at;
    }

    pub(super) fn key_ends(&mut self, at: usize) {
        self.key.end = at;
    }

    pub(super) fn value_begins(&mut self, at: usize, kind: Kind) {
        self.value = Some((at, kind));
    }

    pub(super) fn value_ends(&mut self, at: usize) {
        let Some((start, kind)) = self.value.take() else { return };
        if self.complete.len() < MOST_MEMBERS {
            self.complete.push(Member { key: self.key.clone(), value: start..at, kind });
        } else {
            self.has_more = true;
        }
    }
}
