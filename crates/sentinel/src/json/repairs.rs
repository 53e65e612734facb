//! Faults of JSON that can be repaired.

use std::ops::Range;

use super::nesting::JsonBracket;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JsonRepairs {
    pub(super) commas: bool,
    pub(super) controls: bool,
    pub(super) wrapped: bool,
    /// The position of the surplus bracket.
    stray: Option<usize>,
    before_comma: BeforeComma,
}

/// Whether a bracket of this kind closed a value before a comma, in a parent of the same kind. From then on the
/// surplus bracket could be that one or any later one.
#[derive(Debug, Clone, Copy, Default)]
struct BeforeComma {
    object: bool,
    array: bool,
}

impl JsonRepairs {
    /// Describes a repair that changes the JSON; `None` if there is none.
    pub(crate) fn description(&self) -> Option<&'static str> {
        if self.commas {
            Some("a comma before a closing bracket")
        } else if self.controls {
            Some("a line break or a tab inside a string")
        } else if self.wrapped {
            Some("an array around the object")
        } else {
            self.stray.map(|_| "a closing bracket too many")
        }
    }

    /// Returns the position of the surplus bracket in a part of the text, if it is there.
    pub(crate) fn stray_in(&self, part: &Range<usize>) -> Option<usize> {
        self.stray.filter(|at| part.contains(at)).map(|at| at - part.start)
    }

    /// Notes that a comma follows a value that this bracket closed, in a parent of the same kind.
    pub(super) fn comma_behind(&mut self, bracket: JsonBracket) {
        match bracket {
            JsonBracket::Object => self.before_comma.object = true,
            JsonBracket::Array => self.before_comma.array = true,
        }
    }

    /// Drops an unmatched closing bracket. Returns false unless this is clearly the surplus one, and the only one.
    pub(super) fn drop_bracket(&mut self, at: usize, bracket: JsonBracket) -> bool {
        let is_unclear = match bracket {
            JsonBracket::Object => self.before_comma.object,
            JsonBracket::Array => self.before_comma.array,
        };
        if is_unclear || self.stray.is_some() {
            return false;
        }
        self.stray = Some(at);
        true
    }
}
