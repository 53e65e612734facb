//! The open brackets, one bit each.

/// The limit of serde_json, so that everything that passes here passes there.
const DEEPEST: u8 = 127;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonBracket {
    Object,
    Array,
}

/// A stack of brackets without an allocation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NestingStack {
    /// The innermost bracket is the lowest bit; a set bit is an object.
    objects: u128,
    depth: u8,
}

impl NestingStack {
    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    /// Pushes a bracket. Returns false if the nesting is too deep.
    pub(super) fn open(&mut self, bracket: JsonBracket) -> bool {
        if self.depth == DEEPEST {
            return false;
        }
        self.objects = self.objects << 1 | u128::from(bracket == JsonBracket::Object);
        self.depth += 1;
        true
    }

    pub(super) fn close(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn innermost(&self) -> Option<JsonBracket> {
        let bracket = if self.objects & 1 == 1 { JsonBracket::Object } else { JsonBracket::Array };
        (self.depth > 0).then_some(bracket)
    }
}
