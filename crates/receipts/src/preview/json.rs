//! JSON as a model reads it best: as indented text without the braces, quotes and escapes that say nothing.
//!
//! ```text
//! {"name":"a","tags":["x","y"],"files":[{"path":"a.rs","size":3},{"path":"b.rs","size":4}]}
//!
//! name: a
//! tags: [x, y]
//! files[2]{path,size}:
//!  a.rs,3
//!  b.rs,4
//! ```
//!
//! The text is unambiguous: a text that could be read as something else keeps its quotes, a text of several lines
//! is a block below `
//! `, numbers keep their digits, duplicate names are kept. Values that do not fit are left out inside the
//! structure, with a count, rather than at the end.

mod parse;
mod render;
mod scalar;

use render::{RenderLimits, RenderedJson};

use super::tokenizer::estimate;

/// JSON as readable text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableJson {
    pub text: String,
    /// True if items or parts of long strings were left out; the text says where and how many.
    pub shortened: bool,
}

/// Limits of decreasing size: items, characters of a string, levels.
const STEPS: [(usize, usize, usize); 13] = [
    (usize::MAX, usize::MAX, usize::MAX),
    (usize::MAX, 2_000, usize::MAX),
    (300, 600, 24),
    (150, 400, 16),
    (80, 300, 12),
    (40, 200, 10),
    (25, 160, 8),
    (15, 120, 7),
    (10, 100, 6),
    (7, 80, 5),
    (5, 60, 4),
    (3, 40, 2),
    (1, 20, 1),
];

/// Renders `text` within `budget_tokens` if it is one JSON object or array, or JSON Lines of them.
///
/// Returns `None` if it is anything else, or if even its outline does not fit.
pub fn readable(text: &str, budget_tokens: usize) -> Option<ReadableJson> {
    let document = parse::document(text)?;
    // Tokens are hardly ever longer, so a longer text cannot fit.
    let longest = budget_tokens.saturating_mul(16);
    let within = |(items, characters, depth): (usize, usize, usize)| {
        let RenderedJson { text, shortened } =
            render::render(&document, RenderLimits { items, characters, depth }, longest)?;
        (estimate(&text) <= budget_tokens).then_some(ReadableJson { text, shortened })
    };
    let (step, mut best) = STEPS.iter().enumerate().find_map(|(at, &step)| Some((at, within(step)?)))?;
    // Between two steps, the largest number of items that fits.
    let (mut fits, characters, depth) = STEPS[step];
    let mut too_many = if step == 0 { fits } else { STEPS[step - 1].0.min(MOST_ITEMS) };
    while too_many > fits && too_many - fits > 1 {
        let middle = fits.midpoint(too_many);
        match within((middle, characters, depth)) {
            Some(better) => (fits, best) = (middle, better),
            None => too_many = middle,
        }
    }
    Some(best)
}

/// No list with more items is shown completely.
const MOST_ITEMS: usize = 4_096;
