//! Links between files: finding them, resolving them, and rewriting them when files move.
//!
//! Text in, data out: this module opens no file. A link is returned with the exact bytes that name its
//! target, so that a rewrite replaces those bytes and no others. `.base` files hold expressions instead of
//! links and are not scanned; the caller that moves files reports that.

mod fold;
mod link;
mod quote_format;
mod destination;
mod body;
mod properties;
mod canvas;
mod scan;
mod file_moves;
mod resolver;
mod link_formatter;
mod mention_filter;
mod rewrite;
#[cfg(test)]
mod form_tests;
#[cfg(test)]
mod move_tests;

pub use file_moves::FileMoves;
pub use link::{LinkKind, NoteLink};
pub use resolver::LinkResolver;
pub use rewrite::{LinkEdit, LinkRewriter, RewrittenFile, StaleLink};
pub use scan::{FileKind, scan};
