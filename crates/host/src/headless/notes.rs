//! The open notes behind one lock, as the vault asks about them.
//!
//! Knows no vault: the vault holds this, and whoever held both would never be let go. The lock is never held
//! while files are read or written.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use envelope::{Failure, Fault, FileState, VaultPath};
use vault::OpenNotes;

use crate::desk::{Desk, Stash};
use crate::document::Document;
use crate::note::Saved;

/// What a file gets that the host has not seen on disk.
const DEFAULT_MODE: u32 = 0o644;

#[derive(Debug, Default)]
pub(super) struct Notes {
    desk: Mutex<Desk>,
    /// What notes said before the vault handed them text that is not saved yet.
    handed: Mutex<BTreeMap<VaultPath, Stash>>,
}

impl Notes {
    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handed(&self) -> MutexGuard<'_, BTreeMap<VaultPath, Stash>> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another set of notes that begins as this one, for a preview. There, what is on the screen is taken to
    /// be on disk, as the imagined vault takes it.
    pub(super) fn imagined(&self) -> Notes {
        let notes = Notes { desk: Mutex::new(self.desk().clone()), handed: Mutex::default() };
        let unsaved: Vec<(VaultPath, String)> =
            notes.desk().unsaved().map(|(path, note)| (path.clone(), note.document().file_text())).collect();
        for (path, text) in unsaved {
            notes.saved(&path, &text);
        }
        notes
    }
}

impl OpenNotes for Notes {
    fn is_open(&self, path: &VaultPath) -> bool {
        self.desk().note(path).is_some()
    }

    fn unsaved(&self, path: &VaultPath) -> Option<String> {
        let desk = self.desk();
        desk.note(path).filter(|note| note.is_unsaved()).map(|note| note.document().file_text())
    }

    fn edit(&self, path: &VaultPath, before: &FileState, text: &str) -> Result<Option<FileState>, Fault> {
        let mut desk = self.desk();
        let Some(note) = desk.note(path) else { return Ok(None) };
        let on_disk = match note.saved() {
            // As on disk, so what the caller saw there counts, even if this note has not looked since.
            Some(_) if !note.is_unsaved() => *before,
            Some(saved) => saved.state,
            None => *before,
        };
        let is_save = note.document().file_text() == text && on_disk.hash == before.hash;
        if is_save {
            return Ok(Some(on_disk));
        }
        if note.is_unsaved() && !note.says(&before.hash) {
            return Err(Fault::new(
                Failure::Conflict,
                format!("`{path}` is open and has unsaved changes that were not seen"),
            )
            .hint("read the note again: what is read is what is on the screen"));
        }
        if let Some(stash) = desk.stash(path) {
            self.handed().insert(path.clone(), stash);
        }
        desk.take(path, Document::parse(text));
        Ok(Some(on_disk))
    }

    fn saved(&self, path: &VaultPath, text: &str) {
        self.handed().remove(path);
        if let Some(note) = self.desk().note_mut(path) {
            let mode = note.saved().map_or(DEFAULT_MODE, |saved| saved.state.mode);
            note.saved_as(Saved::of(text, mode));
        }
    }

    fn not_saved(&self, path: &VaultPath) {
        // Never both locks here: `edit` takes them in the other order.
        let stash = self.handed().remove(path);
        if let Some(stash) = stash {
            self.desk().restore(path, stash);
        }
    }

    fn moved(&self, from: &VaultPath, to: &VaultPath) {
        self.desk().moved(from, to);
    }

    fn removed(&self, path: &VaultPath) {
        self.desk().removed(path);
    }
}
