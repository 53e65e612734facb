//! The vault: one sandboxed folder of notes, and the tools on it.
//!
//! A file is named by a `VaultPath` and opened through a directory handle, never by a path string that was checked
//! earlier. This crate starts no process, does not know the engine and reads no clock.

mod files;
mod platform;
mod file_layer;
mod text_tools;

use std::sync::Arc;

use toolkit::{RegistrationError, Registry};

use files::{
    CreateFile, DeletePath, EditTool, EnsureFolder, GetLinks, GetOutline, ListFiles, MaybeVault, PatchFile,
    PatchSection, ReadFile, ReadToolAdapter, RenamePath, ReplaceText, RestoreChanges, SearchText,
    UpdateFrontmatter, WriteFile, WriteToolAdapter,
};
use text_tools::{ParseMarkdownBullets, SlugifyTitle};

pub use file_layer::{
    ChangeStep, EnsuredFolder, FileContent, FileSlice, FolderListing, HOST_DEADLINE, IoContext, LeftoverKind,
    ListEntry, ListStart, ListingQuery, LoadedFile, MoveDetails, NameReservation, NoteFuture, NoteStatus,
    NoteUpdate, NoteWrite, OpenNotes, PathState, PreparedSteps, QuerySyntax, ResolvedPath, SearchPattern,
    SearchQuery, SearchResults, TRASH, TempLeftover, TextMatch, TreeChange, TreeEffect, Vault,
    VaultOpenError, WrittenFile, etag_of, wait_for, with_unknown_outcome,
};
pub use files::{
    DeadLink, ReconcileEvidence, RestoreCause, RestoreChoices, RestoreConflict, RestorePlan, RestoredEntry,
    RestoredLinkEdit, RestoredLinks, is_taken_back, plan_link_updates, plan_restore, reconcile_intent,
    run_blocking, run_blocking_uncancelled,
};

/// Registers every tool of this crate. Without a vault the tools on files are declared, and their calls fail.
pub fn register(registry: &mut Registry, vault: Option<Arc<Vault>>) -> Result<(), RegistrationError> {
    let vault = MaybeVault(vault);
    registry.register(WriteToolAdapter::<EnsureFolder>::new(&vault))?;
    registry.register(ListFiles::new(vault.clone()))?;
    registry.register(SearchText { vault: vault.clone() })?;
    registry.register(ReadToolAdapter::<ReadFile>::new(&vault))?;
    registry.register(WriteToolAdapter::<CreateFile>::new(&vault))?;
    registry.register(WriteToolAdapter::<WriteFile>::new(&vault))?;
    registry.register(WriteToolAdapter::<EditTool<PatchFile>>::new(&vault))?;
    registry.register(WriteToolAdapter::<EditTool<ReplaceText>>::new(&vault))?;
    registry.register(WriteToolAdapter::<EditTool<UpdateFrontmatter>>::new(&vault))?;
    registry.register(WriteToolAdapter::<EditTool<PatchSection>>::new(&vault))?;
    registry.register(WriteToolAdapter::<RenamePath>::new(&vault))?;
    registry.register(WriteToolAdapter::<DeletePath>::new(&vault))?;
    registry.register(ReadToolAdapter::<GetLinks>::new(&vault))?;
    registry.register(ReadToolAdapter::<GetOutline>::new(&vault))?;
    registry.register(ParseMarkdownBullets)?;
    registry.register(SlugifyTitle)
}

/// Registers `vault.restore`, the tool of undo and redo. It is separate because its arguments come from the
/// record of a run, and it is never offered to a model.
pub fn register_restore(registry: &mut Registry, vault: Option<Arc<Vault>>) -> Result<(), RegistrationError> {
    registry.register(WriteToolAdapter::<RestoreChanges>::new(&MaybeVault(vault)))
}
