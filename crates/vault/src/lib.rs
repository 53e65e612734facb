//! The vault: one sandboxed folder of notes, and the tools on it.
//!
//! A file is named by a `VaultPath` and reached through a directory handle, never through a path string
//! that was checked a moment ago. Nothing here starts a process, knows the engine or reads a clock.

mod files;
mod sandbox;
mod text;

pub use files::{CreateFile, EnsureFolder, ListFiles, ReadFile};
pub use sandbox::{
    Change, Content, Entry, ListQuery, Listing, MadeFolder, OpenError, Seen, Vault, Witness, Written, etag_of,
};
pub use text::{ParseMarkdownBullets, SlugifyTitle};
