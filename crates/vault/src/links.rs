//! Links between files: where they stand, what they mean, and how they are kept when files move.
//!
//! Text in, data out: nothing here opens a file. A link is found with the exact bytes that name its target,
//! so that a rewrite replaces those bytes and no others. `.base` files hold expressions, not links, and are
//! not looked into; whoever moves files says so.

mod fold;
mod link;
mod quoting;
mod destination;
mod body;
mod properties;
mod canvas;
mod scan;
mod moves;
mod index;
mod respell;
mod mentions;
mod rewrite;
#[cfg(test)]
mod form_tests;
#[cfg(test)]
mod move_tests;

pub(crate) use index::VaultIndex;
pub(crate) use link::{Link, LinkKind};
pub(crate) use moves::Moves;
pub(crate) use rewrite::{LeftBehind, Renaming};
pub(crate) use scan::{FileKind, scan};
