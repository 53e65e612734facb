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
//! Nothing can be mistaken: a text that could be read as something else keeps its quotes, a text of several
//! lines stands as a block below `|`, numbers keep their digits, names that occur twice occur twice. What does
//! not fit is left out inside the structure, with a count, rather than at the end.

mod parse;
mod render;
mod scalar;

use render::{Limits, Rendered};

use super::tokens::estimate;

/// A JSON text as readable text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readable {
    pub text: String,
    /// Whether items or parts of long strings were left out; the text says where and how many.
    pub shortened: bool,
}

/// How much of a value is shown, from everything to nearly nothing: items, characters of a string, levels.
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

/// Renders `text` if all of it is one JSON object or array, or JSON Lines of them, within `budget_tokens`.
///
/// `None` if it is anything else, or if even its outline would be too much.
pub fn readable(text: &str, budget_tokens: usize) -> Option<Readable> {
    let document = parse::document(text)?;
    // A token is hardly ever longer, so whatever is longer than this cannot fit.
    let longest = budget_tokens.saturating_mul(16);
    STEPS.iter().find_map(|&(items, characters, depth)| {
        let Rendered { text, shortened } =
            render::render(&document, Limits { items, characters, depth }, longest)?;
        (estimate(&text) <= budget_tokens).then_some(Readable { text, shortened })
    })
}
