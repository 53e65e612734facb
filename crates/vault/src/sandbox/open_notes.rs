//! Notes that are open in a host: what is on the screen is ahead of what is on disk.
//!
//! A note that is open is read as it stands in the host and edited through it, so that neither the unsaved
//! text of a person nor the place of their cursor is lost. The vault still does all writing: a host changes
//! its own copy, and is told when that is saved.

use envelope::{Fault, FileState, VaultPath};

/// A host that has notes open, as the file layer sees it.
pub trait OpenNotes: Send + Sync {
    /// Whether the note is open at all.
    fn is_open(&self, path: &VaultPath) -> bool;

    /// The text of a note that is open and not saved as it stands.
    fn unsaved(&self, path: &VaultPath) -> Option<String>;

    /// Takes new text for a note if it is open, and says what the host last saw on disk; `None` if it is not
    /// open. `before` is what the caller has seen: an open note that says something else is a conflict, and
    /// stays as it is.
    fn edit(&self, path: &VaultPath, before: &FileState, text: &str) -> Result<Option<FileState>, Fault>;

    /// The text that was taken is on disk.
    fn saved(&self, path: &VaultPath, text: &str);

    /// The text that was taken could not be saved: the note says again what it said.
    fn not_saved(&self, path: &VaultPath);

    /// A file or folder has another path now.
    fn moved(&self, from: &VaultPath, to: &VaultPath);

    /// A file is gone.
    fn removed(&self, path: &VaultPath);
}
