//! What is open, as it is now: a note that changed on disk is read again before anyone is told about it.

use envelope::{Failure, Fault, VaultPath};
use vault::Witness;

use super::HeadlessHost;
use crate::desk::{Leaf, Opening, Selection};
use crate::host::{ActiveView, Context, LeafInfo, Mode, OpenRequest, Opened, Selected};
use crate::note::Note;
use crate::position::{EditorRange, utf16_len};
use crate::view::{ViewType, title};

impl HeadlessHost {
    pub(super) fn look_around(&self, witness: &dyn Witness) -> Result<Context, Fault> {
        let shown = self.notes.desk().active().cloned();
        if let Some(leaf) = shown.filter(|leaf| leaf.view == ViewType::Markdown) {
            self.freshen(&leaf.path, witness)?;
        }
        let desk = self.notes.desk();
        let active = desk.active().map(|leaf| ActiveView {
            path: Some(leaf.path.clone()),
            view_type: leaf.view.name().to_owned(),
            is_markdown: leaf.view == ViewType::Markdown,
            selection_length: desk
                .note(&leaf.path)
                .and_then(|note| note.document().slice(leaf.selection.range()).ok())
                .map(|text| utf16_len(&text)),
        });
        let leaves = desk.leaves().iter().map(|leaf| LeafInfo {
            id: leaf.id.clone(),
            view_type: leaf.view.name().to_owned(),
            title: Some(title(&leaf.path)),
        });
        Ok(Context { active, leaves: leaves.collect() })
    }

    pub(super) fn look_at_selection(&self, witness: &dyn Witness) -> Result<Selected, Fault> {
        let leaf = self.active_note(witness)?;
        let range = leaf.selection.range();
        let text = match self.notes.desk().note(&leaf.path) {
            Some(note) => note.document().slice(range)?,
            None => return Err(closed(&leaf.path)),
        };
        Ok(Selected { path: leaf.path, range, text, mode: Mode::Source })
    }

    pub(super) fn select_range(&self, range: EditorRange, witness: &dyn Witness) -> Result<Selected, Fault> {
        let leaf = self.active_note(witness)?;
        let mut desk = self.notes.desk();
        let Some(note) = desk.note(&leaf.path) else { return Err(closed(&leaf.path)) };
        let text = note.document().slice(range)?;
        desk.select(Selection { anchor: range.from, head: range.to });
        Ok(Selected { path: leaf.path, range, text, mode: Mode::Source })
    }

    pub(super) fn show(&self, request: &OpenRequest, witness: &dyn Witness) -> Result<Opened, Fault> {
        let Some(view) = ViewType::of(&request.path) else {
            return Err(Fault::new(
                Failure::PreconditionFailed,
                format!("no view can show `{}`", request.path),
            )
            .hint("open a note, a canvas, an image or a PDF; other files are read with vault.readFile"));
        };
        let (path, note) = match view {
            ViewType::Markdown => {
                let loaded = self.vault.load(&request.path, witness)?;
                let note = Note::opened(loaded.text()?, &loaded);
                (loaded.path, Some(note))
            }
            ViewType::Canvas
            | ViewType::Bases
            | ViewType::Image
            | ViewType::Audio
            | ViewType::Video
            | ViewType::Pdf => (self.vault.read(&request.path, 0..0, witness)?.path, None),
        };
        let opening = Opening { new_leaf: request.new_leaf, focus: request.focus };
        let mut desk = self.notes.desk();
        if let Some(note) = &note {
            desk.refresh(&path, note.clone());
        }
        let (leaf_id, opened) = desk.open(&path, view, note, opening);
        Ok(Opened { path, opened, leaf_id: Some(leaf_id) })
    }

    /// The active leaf, which shows a note, with the note as it is now.
    pub(super) fn active_note(&self, witness: &dyn Witness) -> Result<Leaf, Fault> {
        let Some(leaf) = self.notes.desk().active().cloned() else {
            return Err(Fault::new(Failure::PreconditionFailed, "no note is open")
                .hint("open a note first with workspace.openFile"));
        };
        if leaf.view != ViewType::Markdown {
            return Err(Fault::new(
                Failure::PreconditionFailed,
                format!("`{}` is open as {}, which has no editor", leaf.path, leaf.view.name()),
            )
            .hint("open a note first with workspace.openFile"));
        }
        self.freshen(&leaf.path, witness)?;
        let now = self.notes.desk().active().filter(|now| now.id == leaf.id).cloned();
        // Never another note in its place: whoever edits means this one.
        now.filter(|now| now.path == leaf.path).ok_or_else(|| closed(&leaf.path))
    }

    /// Reads a note again if it changed on disk. Unsaved text stays; a note whose file is gone is closed.
    fn freshen(&self, path: &VaultPath, witness: &dyn Witness) -> Result<(), Fault> {
        if self.notes.desk().note(path).is_some_and(Note::is_unsaved) {
            return Ok(());
        }
        let loaded = match self.vault.load(path, witness) {
            Ok(loaded) => loaded,
            Err(fault) if fault.failure == Failure::NotFound => {
                self.notes.desk().removed(path);
                return Ok(());
            }
            Err(fault) => return Err(fault),
        };
        let mut desk = self.notes.desk();
        let known = desk.note(path).and_then(Note::saved).map(|saved| saved.state.hash);
        if known != Some(loaded.state.hash) {
            desk.refresh(path, Note::opened(loaded.text()?, &loaded));
        }
        Ok(())
    }
}

/// The note that was active is open no more.
pub(super) fn closed(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` is not there any more, and was closed"))
        .hint("look at what is open with workspace.getContext, or open another note")
}
