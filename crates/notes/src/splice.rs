//! Replaces ranges of a text with other texts.

use std::ops::Range;

/// A byte range and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextSplice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// Returns `text` with every range replaced. The ranges are in order, do not overlap, and lie on character
/// boundaries.
pub(crate) fn apply_splices(text: &str, splices: &[TextSplice]) -> String {
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
