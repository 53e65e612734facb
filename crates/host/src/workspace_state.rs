//! The state of the headless host: leaves, the notes in them, selections.
//!
//! Pure state: nothing here reads or writes a file.

use std::collections::{BTreeMap, BTreeSet};

use envelope::VaultPath;

use crate::cursor_mapping::CursorMapping;
use crate::document::NoteDocument;
use crate::note::{OpenNote, SavedContent};
use crate::paths::{is_at_or_below, renamed_path};
use crate::position::{EditorPosition, EditorRange};
use crate::protocol::{LeafSnapshot, OpenNoteText, WorkspaceSnapshot};
use crate::view::ViewType;

/// A selection between its anchor and the cursor, in either order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CursorSelection {
    pub(crate) anchor: EditorPosition,
    /// The cursor.
    pub(crate) head: EditorPosition,
}

impl CursorSelection {
    pub(crate) fn cursor(position: EditorPosition) -> CursorSelection {
        CursorSelection { anchor: position, head: position }
    }

    pub(crate) fn range(&self) -> EditorRange {
        EditorRange { from: self.anchor.min(self.head), to: self.anchor.max(self.head) }
    }
}

/// One tab.
#[derive(Debug, Clone)]
pub(crate) struct EditorLeaf {
    pub(crate) id: String,
    pub(crate) path: VaultPath,
    pub(crate) view: ViewType,
    pub(crate) selection: CursorSelection,
}

/// A note with the selections in it, at one moment.
#[derive(Debug, Clone)]
pub(crate) struct NoteSnapshot {
    note: OpenNote,
    selections: Vec<(String, CursorSelection)>,
}

/// Where to show a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeafPlacement {
    pub(crate) new_leaf: bool,
    pub(crate) focus: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct WorkspaceState {
    leaves: Vec<EditorLeaf>,
    /// The id of the leaf that has the focus.
    active: Option<String>,
    notes: BTreeMap<VaultPath, OpenNote>,
    leaves_made: u32,
}

impl WorkspaceState {
    /// Returns a copy of what another host has open. Its text counts as saved.
    pub(crate) fn from_snapshot(snapshot: &WorkspaceSnapshot) -> WorkspaceState {
        let leaves = snapshot.leaves.iter().filter_map(|leaf| {
            let selection = CursorSelection { anchor: leaf.anchor, head: leaf.head };
            let view = ViewType::of(&leaf.path)?;
            Some(EditorLeaf { id: leaf.id.clone(), path: leaf.path.clone(), view, selection })
        });
        let notes = snapshot.notes.iter().map(|note| (note.path.clone(), OpenNote::saved_as(&note.text)));
        WorkspaceState {
            leaves: leaves.collect(),
            active: snapshot.active.clone(),
            notes: notes.collect(),
            leaves_made: u32::try_from(snapshot.leaves.len()).unwrap_or(u32::MAX),
        }
    }

    /// Returns everything that is open.
    pub(crate) fn to_snapshot(&self) -> WorkspaceSnapshot {
        let leaves = self.leaves.iter().map(|leaf| LeafSnapshot {
            id: leaf.id.clone(),
            path: leaf.path.clone(),
            anchor: leaf.selection.anchor,
            head: leaf.selection.head,
        });
        let notes = self
            .notes
            .iter()
            .map(|(path, note)| OpenNoteText { path: path.clone(), text: note.document().file_text() });
        WorkspaceSnapshot { leaves: leaves.collect(), active: self.active.clone(), notes: notes.collect() }
    }

    pub(crate) fn leaves(&self) -> &[EditorLeaf] {
        &self.leaves
    }

    pub(crate) fn active(&self) -> Option<&EditorLeaf> {
        self.leaves.iter().find(|leaf| Some(&leaf.id) == self.active.as_ref())
    }

    pub(crate) fn note(&self, path: &VaultPath) -> Option<&OpenNote> {
        self.notes.get(path)
    }

    pub(crate) fn note_mut(&mut self, path: &VaultPath) -> Option<&mut OpenNote> {
        self.notes.get_mut(path)
    }

    /// Returns the notes with unsaved text.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = (&VaultPath, &OpenNote)> {
        self.notes.iter().filter(|(_, note)| note.is_unsaved())
    }

    /// Shows a file; a note comes with its text, unless it is open already. Returns the id of the leaf, and
    /// whether it showed something else before.
    pub(crate) fn open(
        &mut self,
        path: &VaultPath,
        view: ViewType,
        note: Option<OpenNote>,
        opening: LeafPlacement,
    ) -> (String, bool) {
        if let Some(note) = note {
            self.notes.entry(path.clone()).or_insert(note);
        }
        let shown = self.leaves.iter().find(|leaf| leaf.path == *path).map(|leaf| leaf.id.clone());
        let (id, opened) = match (shown, opening.new_leaf) {
            (Some(id), false) => (id, false),
            (Some(_) | None, _) => (self.show(path, view, opening), true),
        };
        if opening.focus || self.active.is_none() {
            self.active = Some(id.clone());
        }
        self.drop_unused_notes();
        (id, opened)
    }

    /// Shows a file in the active leaf, or in a new one if the active one is to stay as it is.
    fn show(&mut self, path: &VaultPath, view: ViewType, opening: LeafPlacement) -> String {
        let active = self.active.clone();
        let reused = self.leaves.iter_mut().find(|leaf| Some(&leaf.id) == active.as_ref());
        let selection = CursorSelection::default();
        match reused {
            Some(leaf) if !opening.new_leaf && opening.focus => {
                let id = leaf.id.clone();
                *leaf = EditorLeaf { id: id.clone(), path: path.clone(), view, selection };
                id
            }
            Some(_) | None => {
                self.leaves_made += 1;
                let id = format!("leaf-{}", self.leaves_made);
                self.leaves.push(EditorLeaf { id: id.clone(), path: path.clone(), view, selection });
                id
            }
        }
    }

    /// Closes the active leaf; the one that takes its place becomes active.
    pub(crate) fn close_active(&mut self) {
        let at = self.active_index();
        if let Some(at) = at {
            self.leaves.remove(at);
            self.active = self.leaves.get(at).or(self.leaves.last()).map(|leaf| leaf.id.clone());
            self.drop_unused_notes();
        }
    }

    /// Activates the leaf `by` tabs after the active one, around the ends.
    pub(crate) fn step_tab(&mut self, by: isize) {
        let count = isize::try_from(self.leaves.len()).unwrap_or(isize::MAX);
        if let Some(at) = self.active_index().and_then(|at| isize::try_from(at).ok()) {
            let next = usize::try_from((at + by).rem_euclid(count.max(1))).unwrap_or_default();
            self.active = self.leaves.get(next).map(|leaf| leaf.id.clone());
        }
    }

    fn active_index(&self) -> Option<usize> {
        self.leaves.iter().position(|leaf| Some(&leaf.id) == self.active.as_ref())
    }

    /// Sets the selection of the active leaf.
    pub(crate) fn select(&mut self, selection: CursorSelection) {
        if let Some(at) = self.active_index() {
            self.leaves[at].selection = selection;
        }
    }

    /// Gives a note new text. Cursors in it stay with the text around them.
    pub(crate) fn set_text(&mut self, path: &VaultPath, document: NoteDocument) {
        let Some(note) = self.notes.get_mut(path) else { return };
        let mapping = CursorMapping::new(note.document(), &document);
        for leaf in self.leaves.iter_mut().filter(|leaf| leaf.path == *path) {
            let CursorSelection { anchor, head } = leaf.selection;
            leaf.selection =
                CursorSelection { anchor: mapping.map_position(anchor), head: mapping.map_position(head) };
        }
        note.edit(document);
    }

    /// Replaces a note by what is on disk now, unless it has unsaved text.
    pub(crate) fn refresh(&mut self, path: &VaultPath, fresh: OpenNote) {
        if self.notes.get(path).is_some_and(OpenNote::is_unsaved) {
            return;
        }
        self.set_text(path, fresh.document().clone());
        self.notes.insert(path.clone(), fresh);
        self.drop_unused_notes();
    }

    /// Discards all unsaved text. A note is read from disk again when it is next used.
    pub(crate) fn drop_unsaved(&mut self) {
        let unsaved = self.unsaved().map(|(path, note)| (path.clone(), note.saved().map(SavedContent::text)));
        for (path, on_disk) in unsaved.collect::<Vec<_>>() {
            match on_disk {
                Some(text) => self.set_text(&path, NoteDocument::parse(&text)),
                None => {
                    self.notes.remove(&path);
                    self.close_leaves_of(&path);
                }
            }
        }
        self.drop_unused_notes();
    }

    /// Returns a note with the selections in it, for [`WorkspaceState::restore`].
    pub(crate) fn snapshot(&self, path: &VaultPath) -> Option<NoteSnapshot> {
        let note = self.notes.get(path)?.clone();
        let here = self.leaves.iter().filter(|leaf| leaf.path == *path);
        Some(NoteSnapshot { note, selections: here.map(|leaf| (leaf.id.clone(), leaf.selection)).collect() })
    }

    pub(crate) fn restore(&mut self, path: &VaultPath, stash: NoteSnapshot) {
        self.notes.insert(path.clone(), stash.note);
        for (id, selection) in stash.selections {
            if let Some(leaf) = self.leaves.iter_mut().find(|leaf| leaf.id == id && leaf.path == *path) {
                leaf.selection = selection;
            }
        }
        self.drop_unused_notes();
    }

    /// Follows a file or folder to its new path.
    pub(crate) fn rename_path(&mut self, from: &VaultPath, to: &VaultPath) {
        let renamed = |path: &VaultPath| renamed_path(path, from, to);
        for leaf in &mut self.leaves {
            if let Some(path) = renamed(&leaf.path) {
                leaf.view = ViewType::of(&path).unwrap_or(leaf.view);
                leaf.path = path;
            }
        }
        let notes = std::mem::take(&mut self.notes);
        self.notes = notes.into_iter().map(|(path, note)| (renamed(&path).unwrap_or(path), note)).collect();
    }

    /// Closes a file that was removed, or everything below a folder that was. A note with unsaved text stays
    /// open, because that text exists nowhere else.
    pub(crate) fn remove_path(&mut self, path: &VaultPath) {
        let shown = self.leaves.iter().map(|leaf| &leaf.path).chain(self.notes.keys());
        let paths: BTreeSet<VaultPath> = shown.filter(|other| is_at_or_below(other, path)).cloned().collect();
        for path in &paths {
            match self.notes.get_mut(path) {
                Some(note) if note.is_unsaved() => note.detach_from_file(),
                Some(_) | None => {
                    self.notes.remove(path);
                    self.close_leaves_of(path);
                }
            }
        }
    }

    fn close_leaves_of(&mut self, path: &VaultPath) {
        let active = self.active_index();
        let was_active = self.active().is_some_and(|leaf| leaf.path == *path);
        self.leaves.retain(|leaf| leaf.path != *path);
        if was_active {
            let next = active.and_then(|at| self.leaves.get(at)).or(self.leaves.last());
            self.active = next.map(|leaf| leaf.id.clone());
        }
    }

    /// Drops notes that no leaf shows and that have no unsaved text.
    fn drop_unused_notes(&mut self) {
        let leaves = &self.leaves;
        self.notes.retain(|path, note| note.is_unsaved() || leaves.iter().any(|leaf| leaf.path == *path));
    }
}
