//! Puts texts in the place of parts of another text.

use std::ops::Range;

/// One part of a text and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// `text` with every part replaced. The parts stand in order, do not overlap and lie on character boundaries.
pub(super) fn spliced(text: &str, splices: &[Splice]) -> String {
    let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut done = 0;
    for splice in splices {
        out.push_str(&text[done..splice.range.start]);
        out.push_str(&splice.text);
        done = splice.range.end;
    }
    out.push_str(&text[done..]);
    out
}
