//! Differences between texts, rendered for the question about them.
//!
//! A comparison is data first (`DiffBody`, [`DiffSet`]); the lines for a terminal, the plain text and the JSON are
//! made from the same data, so that no form shows more than another. Changed words are marked inside their line, and of
//! a long line only the neighbourhood of the change is shown. Omitted lines are counted.
//!
//! Nothing here reads a file or a clock: the same contents and limits always give the same lines. Omitted text is not
//! in the plain form, so a decision is also bound to the etags of the files.

mod body;
mod compare;
mod endings;
mod files;
mod hunks;
mod limits;
mod lines;
mod narrow;
mod line_alignment;
mod render;
mod words;

#[cfg(test)]
mod tests;

pub use files::{DiffSet, FileDiff};
pub use limits::DiffLimits;
