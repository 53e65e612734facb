//! Turns text that a command or a tool printed into a short, faithful and safe preview for a model.
//!
//! Pure: bytes in, text out, no clock and no files. [`preview`] is the whole of it; the parts are open because
//! receipts need some of them alone, above all [`tokens::estimate`].

pub mod clean;
pub mod condense;
mod cut;
mod facts;
mod head_tail;
pub mod json;
mod layout;
mod numbers;
mod runners;
mod similar;
mod text;
pub mod tokens;
mod written;

pub use head_tail::{Gap, Input, Preview, SMALLEST_BUDGET, Style, preview};
