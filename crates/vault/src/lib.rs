//! The vault: one sandboxed folder of notes, and the tools on it.
//!
//! A file is named by a `VaultPath` and reached through a directory handle, never through a path string
//! that was checked a moment ago. Nothing here starts a process, knows the engine or reads a clock.

mod sandbox;

pub use sandbox::{
    Change, Content, Entry, ListQuery, Listing, MadeFolder, OpenError, Seen, Vault, Witness, Written, etag_of,
};
