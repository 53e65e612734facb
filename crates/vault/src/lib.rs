//! The vault: one sandboxed folder of notes, and the tools on it.
//!
//! A file is named by a `VaultPath` and reached through a directory handle, never through a path string
//! that was checked a moment ago. Nothing here starts a process, knows the engine or reads a clock.

mod files;
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the tools that use it follow"))]
mod links;
mod sandbox;
mod text;

use std::sync::Arc;

use toolkit::{Refused, Registry};

use files::{CreateFile, EnsureFolder, ListFiles, MaybeVault, ReadFile, Writing};
use text::{ParseMarkdownBullets, SlugifyTitle};

pub use sandbox::{
    Content, Entry, FreeName, ListQuery, Listing, Loaded, MadeFolder, OpenError, OpenNotes, Prepared, ReadPart,
    Seen, Step, Survey, TRASH, Vault, Witness, Written, etag_of,
};

/// Registers every tool of this crate. Without a vault the tools on files are declared but refuse to work.
pub fn register(registry: &mut Registry, vault: Option<Arc<Vault>>) -> Result<(), Refused> {
    let vault = MaybeVault(vault);
    registry.register(Writing::<EnsureFolder>::new(&vault))?;
    registry.register(ListFiles { vault: vault.clone() })?;
    registry.register(ReadFile { vault: vault.clone() })?;
    registry.register(Writing::<CreateFile>::new(&vault))?;
    registry.register(ParseMarkdownBullets)?;
    registry.register(SlugifyTitle)
}
