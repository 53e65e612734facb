//! The members of the outermost object, as ranges of the text.

use std::ops::Range;

/// A block with more members is not a call. Bounds the memory of a block.
pub(crate) const MOST_MEMBERS: usize = 16;

/// A complete member.
#[derive(Debug, Clone)]
pub(crate) struct ObjectMember {
    /// The range without the quotes.
    pub(crate) key: Range<usize>,
    /// The range of the value; of a string, without the quotes.
    pub(crate) value: Range<usize>,
    pub(crate) kind: MemberKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberKind {
    Text,
    Object,
    Other,
}

#[derive(Debug, Default)]
pub(crate) struct MemberList {
    complete: Vec<ObjectMember>,
    has_more: bool,
    key: Range<usize>,
    /// The start and the kind of the current value.
    value: Option<(usize, MemberKind)>,
}

impl MemberList {
    pub(crate) fn complete(&self) -> &[ObjectMember] {
        &self.complete
    }

    /// Whether there were too many members.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns an empty list that reuses the allocation.
    pub(super) fn into_cleared(mut self) -> MemberList {
        self.complete.clear();
        MemberList { complete: self.complete, ..MemberList::default() }
    }

    pub(super) fn key_begins(&mut self, at: usize) {
        self.key.start = at;
    }

    pub(super) fn key_ends(&mut self, at: usize) {
        self.key.end = at;
    }

    pub(super) fn value_begins(&mut self, at: usize, kind: MemberKind) {
        self.value = Some((at, kind));
    }

    pub(super) fn value_ends(&mut self, at: usize) {
        let Some((start, kind)) = self.value.take() else { return };
        if self.complete.len() < MOST_MEMBERS {
            self.complete.push(ObjectMember { key: self.key.clone(), value: start..at, kind });
        } else {
            self.has_more = true;
        }
    }
}
