//! What is open in the headless host: leaves, the notes in them, selections.
//!
//! Pure state. Nothing here touches a file: the host reads and writes, and tells the desk.

use std::collections::{BTreeMap, BTreeSet};

use envelope::VaultPath;

use crate::carry::Carry;
use crate::document::Document;
use crate::note::{Note, Saved};
use crate::position::{EditorRange, Position};
use crate::view::ViewType;

/// A selection: it begins where it was begun and ends where the cursor is, in either order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) anchor: Position,
    /// The cursor.
    pub(crate) head: Position,
}

impl Selection {
    pub(crate) fn cursor(place: Position) -> Selection {
        Selection { anchor: place, head: place }
    }

    pub(crate) fn range(&self) -> EditorRange {
        EditorRange { from: self.anchor.min(self.head), to: self.anchor.max(self.head) }
    }
}

/// One tab.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) id: String,
    pub(crate) path: VaultPath,
    pub(crate) view: ViewType,
    pub(crate) selection: Selection,
}

/// A note as it was at some moment.
#[derive(Debug, Clone)]
pub(crate) struct Stash {
    note: Note,
    selections: Vec<(String, Selection)>,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) new_leaf: bool,
    pub(crate) focus: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Desk {
    leaves: Vec<Leaf>,
    /// The id of the leaf that has the focus.
    active: Option<String>,
    notes: BTreeMap<VaultPath, Note>,
    leaves_made: u32,
}

impl Desk {
    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    pub(crate) fn active(&self) -> Option<&Leaf> {
        self.leaves.iter().find(|leaf| Some(&leaf.id) == self.active.as_ref())
    }

    pub(crate) fn note(&self, path: &VaultPath) -> Option<&Note> {
        self.notes.get(path)
    }

    pub(crate) fn note_mut(&mut self, path: &VaultPath) -> Option<&mut Note> {
        self.notes.get_mut(path)
    }

    /// The notes whose text is on no disk.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = (&VaultPath, &Note)> {
        self.notes.iter().filter(|(_, note)| note.is_unsaved())
    }

    /// Shows a file; a note comes with its text, unless it is open already. Returns the leaf, and whether it
    /// showed something else before.
    pub(crate) fn open(
        &mut self,
        path: &VaultPath,
        view: ViewType,
        note: Option<Note>,
        opening: Opening,
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
        self.let_go();
        (id, opened)
    }

    /// Puts a file into the active leaf, or into a new one where the active one is to stay as it is.
    fn show(&mut self, path: &VaultPath, view: ViewType, opening: Opening) -> String {
        let active = self.active.clone();
        let reused = self.leaves.iter_mut().find(|leaf| Some(&leaf.id) == active.as_ref());
        let selection = Selection::default();
        match reused {
            Some(leaf) if !opening.new_leaf && opening.focus => {
                let id = leaf.id.clone();
                *leaf = Leaf { id: id.clone(), path: path.clone(), view, selection };
                id
            }
            Some(_) | None => {
                self.leaves_made += 1;
                let id = format!("leaf-{}", self.leaves_made);
                self.leaves.push(Leaf { id: id.clone(), path: path.clone(), view, selection });
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
            self.let_go();
        }
    }

    /// Makes the leaf `by` places after the active one active, around the ends.
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
    pub(crate) fn select(&mut self, selection: Selection) {
        if let Some(at) = self.active_index() {
            self.leaves[at].selection = selection;
        }
    }

    /// Gives a note new text; cursors in it stay with the text around them.
    pub(crate) fn take(&mut self, path: &VaultPath, document: Document) {
        let Some(note) = self.notes.get_mut(path) else { return };
        let carry = Carry::new(note.document(), &document);
        for leaf in self.leaves.iter_mut().filter(|leaf| leaf.path == *path) {
            let Selection { anchor, head } = leaf.selection;
            leaf.selection = Selection { anchor: carry.place(anchor), head: carry.place(head) };
        }
        note.edit(document);
    }

    /// Takes a note as it is on disk now. Text that is not saved stays.
    pub(crate) fn refresh(&mut self, path: &VaultPath, fresh: Note) {
        if self.notes.get(path).is_some_and(Note::is_unsaved) {
            return;
        }
        self.take(path, fresh.document().clone());
        self.notes.insert(path.clone(), fresh);
        self.let_go();
    }

    /// Drops the text of every note that is not saved. The next look at one reads what is on disk.
    pub(crate) fn drop_unsaved(&mut self) {
        let unsaved = self.unsaved().map(|(path, note)| (path.clone(), note.saved().map(Saved::text)));
        for (path, on_disk) in unsaved.collect::<Vec<_>>() {
            match on_disk {
                Some(text) => self.take(&path, Document::parse(&text)),
                None => {
                    self.notes.remove(&path);
                    self.close_showing(&path);
                }
            }
        }
        self.let_go();
    }

    /// A note with the selections in it, to come back to.
    pub(crate) fn stash(&self, path: &VaultPath) -> Option<Stash> {
        let note = self.notes.get(path)?.clone();
        let here = self.leaves.iter().filter(|leaf| leaf.path == *path);
        Some(Stash { note, selections: here.map(|leaf| (leaf.id.clone(), leaf.selection)).collect() })
    }

    pub(crate) fn restore(&mut self, path: &VaultPath, stash: Stash) {
        self.notes.insert(path.clone(), stash.note);
        for (id, selection) in stash.selections {
            if let Some(leaf) = self.leaves.iter_mut().find(|leaf| leaf.id == id && leaf.path == *path) {
                leaf.selection = selection;
            }
        }
        self.let_go();
    }

    /// A file or folder has another path.
    pub(crate) fn moved(&mut self, from: &VaultPath, to: &VaultPath) {
        let renamed = |path: &VaultPath| -> Option<VaultPath> {
            let rest = path.as_str().strip_prefix(from.as_str())?;
            (rest.is_empty() || rest.starts_with('/'))
                .then(|| VaultPath::parse(&format!("{to}{rest}")).ok())?
        };
        for leaf in &mut self.leaves {
            if let Some(path) = renamed(&leaf.path) {
                leaf.view = ViewType::of(&path).unwrap_or(leaf.view);
                leaf.path = path;
            }
        }
        let notes = std::mem::take(&mut self.notes);
        self.notes = notes.into_iter().map(|(path, note)| (renamed(&path).unwrap_or(path), note)).collect();
    }

    /// A file is gone, or a folder with all that was in it. A note with unsaved text stays open: that text is
    /// nowhere else.
    pub(crate) fn removed(&mut self, path: &VaultPath) {
        let gone = |other: &VaultPath| {
            other
                .as_str()
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let shown = self.leaves.iter().map(|leaf| &leaf.path).chain(self.notes.keys());
        let paths: BTreeSet<VaultPath> = shown.filter(|path| gone(path)).cloned().collect();
        for path in &paths {
            match self.notes.get_mut(path) {
                Some(note) if note.is_unsaved() => note.orphan(),
                Some(_) | None => {
                    self.notes.remove(path);
                    self.close_showing(path);
                }
            }
        }
    }

    fn close_showing(&mut self, path: &VaultPath) {
        let active = self.active_index();
        let was_active = self.active().is_some_and(|leaf| leaf.path == *path);
        self.leaves.retain(|leaf| leaf.path != *path);
        if was_active {
            let next = active.and_then(|at| self.leaves.get(at)).or(self.leaves.last());
            self.active = next.map(|leaf| leaf.id.clone());
        }
    }

    /// Lets go of notes that are shown nowhere and are on disk as they stand.
    fn let_go(&mut self) {
        let leaves = &self.leaves;
        self.notes.retain(|path, note| note.is_unsaved() || leaves.iter().any(|leaf| leaf.path == *path));
    }
}
