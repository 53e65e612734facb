//! An open note: its text, and what is on disk as far as the host knows.

use std::sync::Arc;

use envelope::{FileState, Hash};
use vault::Loaded;

use crate::document::Document;

/// The content of a file as it was last read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saved {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) state: FileState,
}

impl Saved {
    pub(crate) fn of(text: &str, mode: u32) -> Saved {
        let bytes: Arc<[u8]> = text.as_bytes().into();
        let state = FileState { hash: Hash::of(&bytes), bytes: bytes.len() as u64, mode };
        Saved { bytes, state }
    }

    /// The content as text; only text is ever opened as a note.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A note that is open in at least one leaf, or has text that is on no disk.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    document: Document,
    /// Absent when the file was removed while the note had unsaved text.
    saved: Option<Saved>,
    unsaved: bool,
}

impl Note {
    /// A note as it is on disk.
    pub(crate) fn opened(text: &str, loaded: &Loaded) -> Note {
        let saved = Saved { bytes: loaded.bytes.clone().into(), state: loaded.state };
        Note { document: Document::parse(text), saved: Some(saved), unsaved: false }
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    pub(crate) fn saved(&self) -> Option<&Saved> {
        self.saved.as_ref()
    }

    /// Whether what it says is on no disk.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.unsaved
    }

    /// Whether its text, as a file, has this hash.
    pub(crate) fn says(&self, hash: &Hash) -> bool {
        Hash::of(self.document.file_text().as_bytes()) == *hash
    }

    /// Takes new text, not saved yet.
    pub(crate) fn edit(&mut self, document: Document) {
        let bytes = document.file_text().into_bytes();
        self.unsaved = self.saved.as_ref().is_none_or(|saved| *saved.bytes != *bytes);
        self.document = document;
    }

    /// What it says is on disk now.
    pub(crate) fn saved_as(&mut self, saved: Saved) {
        self.unsaved = self.document.file_text().as_bytes() != &*saved.bytes;
        self.saved = Some(saved);
    }

    /// Its file is gone; its text is all there is.
    pub(crate) fn orphan(&mut self) {
        self.saved = None;
        self.unsaved = true;
    }
}
