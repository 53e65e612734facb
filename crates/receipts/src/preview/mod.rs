//! Turns the output of commands and tools into a short, faithful and safe preview for a model.
//!
//! Pure: bytes in, text out, no clock and no files. [`preview`] is the main entry point; the other parts are public
//! because receipts need some of them alone, above all [`tokenizer::estimate`].

pub mod clean;
pub mod condense;
mod failure_lines;
mod head_tail;
pub mod json;
mod layout;
mod line_formatter;
mod outliers;
mod test_runners;
mod similar;
pub mod tokenizer;

pub(crate) use failure_lines::announces_failure;
pub(crate) use head_tail::{GapFailures, preview_around};
pub use head_tail::{InputGap, PreviewInput, PreviewStyle, SMALLEST_BUDGET, TextPreview, preview};
