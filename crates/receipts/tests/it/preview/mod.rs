//! Previews of sample texts, and properties for any text.

mod clean;
mod command_outputs;
mod condense;
mod head_tail;
mod json;
mod properties;
mod tokens;
