//! Previews of sample texts, and properties for any text.

mod clean;
mod condense;
mod head_tail;
mod json;
mod properties;
mod tokens;
