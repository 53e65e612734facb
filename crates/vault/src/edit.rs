//! Changes of a note's text: text in, text out.
//!
//! Each function changes the place it was asked to change and no other byte: a byte order mark, the line
//! endings and a missing final newline stay as they are. What cannot be done exactly is refused, and then
//! nothing was changed. Nothing here reads or writes a file.

pub(crate) mod frontmatter;
pub(crate) mod lines;
pub(crate) mod patch;
pub(crate) mod replace_text;
pub(crate) mod section;
mod splice;
