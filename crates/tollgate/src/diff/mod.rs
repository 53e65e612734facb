//! What would change in the notes, shown so that a person can say yes to it.
//!
//! A comparison is data first ([`Body`], [`Changes`]); the lines for a terminal, the plain text and the JSON are
//! made from the same data, so that no form shows more than another. A small edit looks small: changed words
//! are marked inside their line, and of a long line only the neighbourhood of the change is shown. Whatever is
//! left out is counted.
//!
//! Nothing here reads a file or a clock: the same two contents and limits always give the same lines. Text that
//! is left out is not in the plain form, so whoever binds a decision to it binds the etags of the files too.

mod body;
mod compare;
mod endings;
mod files;
mod hunks;
mod limits;
mod lines;
mod narrow;
mod pair;
mod render;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use files::{Changes, FileDiff};
pub(crate) use limits::Limits;
