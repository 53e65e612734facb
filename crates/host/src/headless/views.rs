//! Current state of the open views. A note that changed on disk is read again before it is reported.

use envelope::{Failure, Fault, VaultPath};
use vault::IoContext;

use super::HeadlessHost;
use crate::note::OpenNote;
use crate::position::{EditorRange, utf16_len};
use crate::protocol::{
    ActiveView, LeafInfo, OpenRequest, OpenedLeaf, SelectedText, ViewMode, WorkspaceContext,
};
use crate::view::{ViewType, title};
use crate::workspace_state::{CursorSelection, EditorLeaf, LeafPlacement};

impl HeadlessHost {
    pub(super) fn workspace_context(&self, io: &dyn IoContext) -> Result<WorkspaceContext, Fault> {
        let shown = self.notes.workspace().active().cloned();
        if let Some(leaf) = shown.filter(|leaf| leaf.view == ViewType::Markdown) {
            self.refresh_note(&leaf.path, io)?;
        }
        let workspace = self.notes.workspace();
        let active = workspace.active().map(|leaf| ActiveView {
            path: Some(leaf.path.clone()),
            view_type: leaf.view.name().to_owned(),
            is_markdown: leaf.view == ViewType::Markdown,
            selection_length: workspace
                .note(&leaf.path)
                .and_then(|note| note.document().slice(leaf.selection.range()).ok())
                .map(|text| utf16_len(&text)),
        });
        let leaves = workspace.leaves().iter().map(|leaf| LeafInfo {
            id: leaf.id.clone(),
            view_type: leaf.view.name().to_owned(),
            title: Some(title(&leaf.path)),
        });
        Ok(WorkspaceContext { active, leaves: leaves.collect() })
    }

    pub(super) fn selected_text(&self, io: &dyn IoContext) -> Result<SelectedText, Fault> {
        let leaf = self.active_note(io)?;
        let range = leaf.selection.range();
        let text = match self.notes.workspace().note(&leaf.path) {
            Some(note) => note.document().slice(range)?,
            None => return Err(closed(&leaf.path)),
        };
        Ok(SelectedText { path: leaf.path, range, text, mode: ViewMode::Source })
    }

    pub(super) fn select_range(&self, range: EditorRange, io: &dyn IoContext) -> Result<SelectedText, Fault> {
        let leaf = self.active_note(io)?;
        let mut workspace = self.notes.workspace();
        let Some(note) = workspace.note(&leaf.path) else { return Err(closed(&leaf.path)) };
        let text = note.document().slice(range)?;
        workspace.select(CursorSelection { anchor: range.from, head: range.to });
        Ok(SelectedText { path: leaf.path, range, text, mode: ViewMode::Source })
    }

    pub(super) fn open_file(&self, request: &OpenRequest, io: &dyn IoContext) -> Result<OpenedLeaf, Fault> {
        let Some(view) = ViewType::of(&request.path) else {
            return Err(Fault::new(
                Failure::PreconditionFailed,
                format!("no view can show `{}`", request.path),
            )
            .hint("open a note, a canvas, an image or a PDF; other files are read with vault.readFile"));
        };
        let (path, note) = match view {
            ViewType::Markdown => {
                let loaded = self.vault.load(&request.path, io)?;
                let note = OpenNote::from_file(loaded.text()?, &loaded);
                (loaded.path, Some(note))
            }
            ViewType::Canvas
            | ViewType::Bases
            | ViewType::Image
            | ViewType::Audio
            | ViewType::Video
            | ViewType::Pdf => (self.vault.read(&request.path, 0..0, io)?.path, None),
        };
        let opening = LeafPlacement { new_leaf: request.new_leaf, focus: request.focus };
        let mut workspace = self.notes.workspace();
        if let Some(note) = &note {
            workspace.refresh(&path, note.clone());
        }
        let (leaf_id, opened) = workspace.open(&path, view, note, opening);
        Ok(OpenedLeaf { path, opened, leaf_id: Some(leaf_id) })
    }

    /// Returns the active leaf, which shows a note, after refreshing the note. Fails if no note is active.
    pub(super) fn active_note(&self, io: &dyn IoContext) -> Result<EditorLeaf, Fault> {
        let Some(leaf) = self.notes.workspace().active().cloned() else {
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
        self.refresh_note(&leaf.path, io)?;
        let now = self.notes.workspace().active().filter(|now| now.id == leaf.id).cloned();
        // Never another note in its place: the edit is meant for this one.
        now.filter(|now| now.path == leaf.path).ok_or_else(|| closed(&leaf.path))
    }

    /// Reads a note again if it changed on disk. Unsaved text is kept; a note whose file is gone is closed.
    fn refresh_note(&self, path: &VaultPath, io: &dyn IoContext) -> Result<(), Fault> {
        if self.notes.workspace().note(path).is_some_and(OpenNote::is_unsaved) {
            return Ok(());
        }
        let loaded = match self.vault.load(path, io) {
            Ok(loaded) => loaded,
            Err(fault) if fault.failure == Failure::NotFound => {
                self.notes.workspace().remove_path(path);
                return Ok(());
            }
            Err(fault) => return Err(fault),
        };
        let mut workspace = self.notes.workspace();
        let known = workspace.note(path).and_then(OpenNote::saved).map(|saved| saved.state.hash);
        if known != Some(loaded.state.hash) {
            workspace.refresh(path, OpenNote::from_file(loaded.text()?, &loaded));
        }
        Ok(())
    }
}

/// Returns the error for an active note that was closed meanwhile.
pub(super) fn closed(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` is not there any more, and was closed"))
        .hint("look at what is open with workspace.getContext, or open another note")
}
