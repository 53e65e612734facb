//! An open note: its text, and the content of its file as far as the host knows.

use std::sync::Arc;

use envelope::{FileState, Hash};
use vault::LoadedFile;

use crate::document::NoteDocument;

/// Permission bits of a file that the host has not seen on disk.
pub(crate) const DEFAULT_MODE: u32 = 0o644;

/// The content of a file as it was last read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedContent {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) state: FileState,
}

impl SavedContent {
    pub(crate) fn of(text: &str, mode: u32) -> SavedContent {
        let bytes: Arc<[u8]> = text.as_bytes().into();
        let state = FileState { hash: Hash::of(&bytes), bytes: bytes.len() as u64, mode };
        SavedContent { bytes, state }
    }

    /// Returns the content as text. Only text is opened as a note.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A note that is open in at least one leaf or has unsaved text.
#[derive(Debug, Clone)]
pub(crate) struct OpenNote {
    document: NoteDocument,
    /// Absent when the file was removed while the note had unsaved text.
    saved: Option<SavedContent>,
    unsaved: bool,
}

impl OpenNote {
    /// Creates a note from its file.
    pub(crate) fn from_file(text: &str, loaded: &LoadedFile) -> OpenNote {
        let saved = SavedContent { bytes: loaded.bytes.clone().into(), state: loaded.state };
        OpenNote { document: NoteDocument::parse(text), saved: Some(saved), unsaved: false }
    }

    /// Creates a note whose file has this text.
    pub(crate) fn saved_as(text: &str) -> OpenNote {
        let saved = SavedContent::of(text, DEFAULT_MODE);
        OpenNote { document: NoteDocument::parse(text), saved: Some(saved), unsaved: false }
    }

    pub(crate) fn document(&self) -> &NoteDocument {
        &self.document
    }

    pub(crate) fn saved(&self) -> Option<&SavedContent> {
        self.saved.as_ref()
    }

    /// Returns true if the text is not saved.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.unsaved
    }

    /// Returns true if the text, as a file, has this hash.
    pub(crate) fn has_content_hash(&self, hash: &Hash) -> bool {
        Hash::of(self.document.file_text().as_bytes()) == *hash
    }

    /// Sets new text, which is not saved yet.
    pub(crate) fn edit(&mut self, document: NoteDocument) {
        let bytes = document.file_text().into_bytes();
        self.unsaved = self.saved.as_ref().is_none_or(|saved| *saved.bytes != *bytes);
        self.document = document;
    }

    /// Records what is on disk now.
    pub(crate) fn set_saved(&mut self, saved: SavedContent) {
        self.unsaved = self.document.file_text().as_bytes() != &*saved.bytes;
        self.saved = Some(saved);
    }

    /// Records that the file was removed; the text is kept as unsaved.
    pub(crate) fn detach_from_file(&mut self) {
        self.saved = None;
        self.unsaved = true;
    }
}
