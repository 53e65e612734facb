//! What was wrong with JSON and can be mended.

use std::ops::Range;

use super::nesting::Bracket;

#[derive(Debug, Clone, Copy, Default)]
pub(in crate::sentinel) struct Repairs {
    pub(super) commas: bool,
    pub(super) controls: bool,
    pub(super) wrapped: bool,
    /// Where the bracket stands that is one too many.
    stray: Option<usize>,
    before_comma: BeforeComma,
}

/// Whether a bracket of this kind closed a value in front of a comma, in a parent of the same kind. From then on
/// one bracket too many could be that one, or any later one.
#[derive(Debug, Clone, Copy, Default)]
struct BeforeComma {
    object: bool,
    array: bool,
}

impl Repairs {
    pub(in crate::sentinel) fn what(&self) -> Option<&'static str> {
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

    /// Where the bracket that is one too many stands in a part of the text, if it is there.
    pub(in crate::sentinel) fn stray_in(&self, part: &Range<usize>) -> Option<usize> {
        self.stray.filter(|at| part.contains(at)).map(|at| at - part.start)
    }

    /// A comma follows a value that this bracket closed, in a parent of the same kind.
    pub(super) fn comma_behind(&mut self, bracket: Bracket) {
        match bracket {
            Bracket::Object => self.before_comma.object = true,
            Bracket::Array => self.before_comma.array = true,
        }
    }

    /// A closing bracket closes nothing. False unless it is clear that this one is too many, and the only one.
    pub(super) fn drop_bracket(&mut self, at: usize, bracket: Bracket) -> bool {
        let is_unclear = match bracket {
            Bracket::Object => self.before_comma.object,
            Bracket::Array => self.before_comma.array,
        };
        if is_unclear || self.stray.is_some() {
            return false;
        }
        self.stray = Some(at);
        true
    }
}
