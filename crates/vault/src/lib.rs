//! The vault: one sandboxed folder of notes, and the tools on it.
//!
//! A file is named by a `VaultPath` and reached through a directory handle, never through a path string
//! that was checked a moment ago. Nothing here starts a process, knows the engine or reads a clock.

mod edit;
mod files;
mod links;
mod sandbox;
mod text;

use std::sync::Arc;

use toolkit::{Refused, Registry};

use files::{
    CreateFile, Delete, Editing, EnsureFolder, GetLinks, ListFiles, MaybeVault, PatchFile, PatchSection,
    ReadFile, Rename, ReplaceText, Restore, SearchText, UpdateFrontmatter, WriteFile, Writing,
};
use text::{ParseMarkdownBullets, SlugifyTitle};

pub use files::{
    Evidence, Restoration, RestoreCause, RestoreChoices, RestoreConflict, Restored, blocking, examine,
    finding_out, foresee_restore,
};
pub use sandbox::{
    Baggage, Content, Entry, Fate, Finds, Foreseen, FreeName, ListQuery, ListStart, Listing, Loaded,
    MadeFolder, Needle, OpenError, OpenNotes, Prepared, ReadPart, Reading, SearchQuery, Seen, Step, Survey,
    TRASH, TextMatch, Vault, Witness, Written, etag_of,
};

/// Registers every tool of this crate. Without a vault the tools on files are declared but refuse to work.
pub fn register(registry: &mut Registry, vault: Option<Arc<Vault>>) -> Result<(), Refused> {
    let vault = MaybeVault(vault);
    registry.register(Writing::<EnsureFolder>::new(&vault))?;
    registry.register(ListFiles::new(vault.clone()))?;
    registry.register(SearchText { vault: vault.clone() })?;
    registry.register(ReadFile { vault: vault.clone() })?;
    registry.register(Writing::<CreateFile>::new(&vault))?;
    registry.register(Writing::<WriteFile>::new(&vault))?;
    registry.register(Writing::<Editing<PatchFile>>::new(&vault))?;
    registry.register(Writing::<Editing<ReplaceText>>::new(&vault))?;
    registry.register(Writing::<Editing<UpdateFrontmatter>>::new(&vault))?;
    registry.register(Writing::<Editing<PatchSection>>::new(&vault))?;
    registry.register(Writing::<Rename>::new(&vault))?;
    registry.register(Writing::<Delete>::new(&vault))?;
    registry.register(GetLinks { vault })?;
    registry.register(ParseMarkdownBullets)?;
    registry.register(SlugifyTitle)
}

/// Registers `vault.restore`, which undo and redo are made of. Apart from the others: its arguments come from
/// the record of a run, and no model is ever offered it.
pub fn register_restore(registry: &mut Registry, vault: Option<Arc<Vault>>) -> Result<(), Refused> {
    registry.register(Writing::<Restore>::new(&MaybeVault(vault)))
}
