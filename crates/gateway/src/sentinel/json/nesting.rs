//! The brackets that are open, one bit each.

/// What the JSON reader behind us accepts at most, so that nothing which passes here fails there.
const DEEPEST: u8 = 127;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Object,
    Array,
}

/// A stack of brackets that needs no memory of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nesting {
    /// The innermost bracket is the lowest bit; a set bit is an object.
    objects: u128,
    depth: u8,
}

impl Nesting {
    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    /// False when that would be too deep.
    pub(super) fn open(&mut self, bracket: Bracket) -> bool {
        if self.depth == DEEPEST {
            return false;
        }
        self.objects = self.objects << 1 | u128::from(bracket == Bracket::Object);
        self.depth += 1;
        true
    }

    pub(super) fn close(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn innermost(&self) -> Option<Bracket> {
        let bracket = if self.objects & 1 == 1 { Bracket::Object } else { Bracket::Array };
        (self.depth > 0).then_some(bracket)
    }
}
