//! The open notes of the headless host behind one lock.
//!
//! Holds no vault: the vault holds this, and a cycle would never be freed. The lock is never held while files
//! are read or written.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use envelope::{Failure, Fault, FileState, Hash, VaultPath};

use crate::document::NoteDocument;
use crate::note::{DEFAULT_MODE, OpenNote, SavedContent};
use crate::protocol::{HostNotice, NoteWriteResult};
use crate::workspace_state::{NoteSnapshot, WorkspaceState};

/// The open notes of a headless host.
#[derive(Debug, Default)]
pub(crate) struct HeadlessNotes {
    workspace: Mutex<WorkspaceState>,
    /// Notes as they were before they took text that is not saved yet. Taken in this order: `workspace` first.
    earlier: Mutex<EarlierNotes>,
}

#[derive(Debug, Default)]
struct EarlierNotes {
    /// Before the vault handed over text.
    written: BTreeMap<VaultPath, NoteSnapshot>,
    /// Before an edit was applied.
    edited: BTreeMap<VaultPath, NoteSnapshot>,
}

impl HeadlessNotes {
    fn of(workspace: WorkspaceState) -> HeadlessNotes {
        HeadlessNotes { workspace: Mutex::new(workspace), earlier: Mutex::default() }
    }

    pub(crate) fn workspace(&self) -> MutexGuard<'_, WorkspaceState> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn earlier(&self) -> MutexGuard<'_, EarlierNotes> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy for a preview. Unsaved text counts as saved there, because the overlay of the vault
    /// reads it as the content of the file.
    pub(super) fn copy_for_preview(&self) -> HeadlessNotes {
        let notes = HeadlessNotes::of(self.workspace().clone());
        let unsaved: Vec<(VaultPath, String)> = {
            let workspace = notes.workspace();
            workspace.unsaved().map(|(path, note)| (path.clone(), note.document().file_text())).collect()
        };
        for (path, text) in unsaved {
            notes.set_saved(&path, &text);
        }
        notes
    }

    pub(crate) fn is_open(&self, path: &VaultPath) -> bool {
        self.workspace().note(path).is_some()
    }

    pub(crate) fn has_unsaved(&self) -> bool {
        self.workspace().unsaved().next().is_some()
    }

    pub(crate) fn unsaved_text(&self, path: &VaultPath) -> Option<String> {
        let workspace = self.workspace();
        workspace.note(path).filter(|note| note.is_unsaved()).map(|note| note.document().file_text())
    }

    /// Gives a note new text, which the vault then writes. Fails with a conflict if the note has unsaved text
    /// other than `before`.
    pub(crate) fn write_text(
        &self,
        path: &VaultPath,
        before: &FileState,
        text: &str,
    ) -> Result<NoteWriteResult, Fault> {
        let mut workspace = self.workspace();
        let Some(note) = workspace.note(path) else { return Ok(NoteWriteResult::NotOpen) };
        let on_disk = match note.saved() {
            // Without unsaved text the caller's state of the file counts, even if this note was not refreshed.
            Some(_) if !note.is_unsaved() => *before,
            Some(saved) => saved.state,
            None => *before,
        };
        let is_save = note.document().file_text() == text && on_disk.hash == before.hash;
        if is_save {
            return Ok(NoteWriteResult::WriteFile { on_disk });
        }
        if note.is_unsaved() && !note.has_content_hash(&before.hash) {
            return Err(Fault::new(
                Failure::Conflict,
                format!("`{path}` is open and has unsaved changes that were not seen"),
            )
            .hint("read the note again: what is read is what is on the screen"));
        }
        if let Some(snapshot) = workspace.snapshot(path) {
            self.earlier().written.insert(path.clone(), snapshot);
        }
        workspace.set_text(path, NoteDocument::parse(text));
        Ok(NoteWriteResult::WriteFile { on_disk })
    }

    /// Remembers a note as it was before an edit, for [`HostNotice::RevertEdit`].
    pub(super) fn remember_before_edit(&self, path: &VaultPath, snapshot: NoteSnapshot) {
        self.earlier().edited.insert(path.clone(), snapshot);
    }

    pub(crate) fn notify(&self, notice: &HostNotice) {
        match notice {
            HostNotice::NoteSaved { path, text } => self.set_saved(path, text),
            // The guard ends with the statement: the two locks are never taken in this order.
            HostNotice::NoteNotSaved { path, text } => {
                let snapshot = self.earlier().written.remove(path);
                self.restore(path, text, snapshot);
            }
            HostNotice::RevertEdit { path, after } => {
                let snapshot = self.earlier().edited.remove(path);
                self.restore(path, after, snapshot);
            }
            HostNotice::PathMoved { from, to } => self.workspace().rename_path(from, to),
            HostNotice::PathRemoved { path } => self.workspace().remove_path(path),
        }
    }

    /// Gives a note that still has the text with this hash its earlier text back.
    fn restore(&self, path: &VaultPath, shown: &Hash, snapshot: Option<NoteSnapshot>) {
        let Some(snapshot) = snapshot else { return };
        let mut workspace = self.workspace();
        if workspace.note(path).is_some_and(|note| note.has_content_hash(shown)) {
            workspace.restore(path, snapshot);
        }
    }

    fn set_saved(&self, path: &VaultPath, text: &str) {
        self.earlier().written.remove(path);
        if let Some(note) = self.workspace().note_mut(path) {
            let mode = note.saved().map_or(DEFAULT_MODE, |saved| saved.state.mode);
            note.set_saved(SavedContent::of(text, mode));
        }
    }

    /// Returns true if the note has unsaved text.
    pub(super) fn is_unsaved(&self, path: &VaultPath) -> bool {
        self.workspace().note(path).is_some_and(OpenNote::is_unsaved)
    }
}
