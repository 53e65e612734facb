//! Edits of the active note: worked out on a copy, then applied to the open note.

use envelope::{Failure, Fault, Hash, VaultPath};
use vault::{IoContext, etag_of};

use super::HeadlessHost;
use super::views::closed;
use crate::document::NoteDocument;
use crate::note::{OpenNote, SavedContent};
use crate::position::{EditorRange, utf16_len};
use crate::protocol::{CursorPlacement, EditLocation, EditRequest, HostReply, NoteEditPlan, SavedNote};
use crate::workspace_state::CursorSelection;

impl HeadlessHost {
    pub(super) fn plan_edit(&self, edit: &EditRequest, io: &dyn IoContext) -> Result<NoteEditPlan, Fault> {
        let leaf = self.active_note(io)?;
        let workspace = self.notes.workspace();
        let Some(note) = workspace.note(&leaf.path) else { return Err(closed(&leaf.path)) };
        let range = match edit.target {
            EditLocation::Selection => leaf.selection.range(),
            EditLocation::Cursor => EditorRange::at(leaf.selection.head),
            EditLocation::Range(range) => range,
        };
        note.document().check(range)?;
        let before = note.document().file_text();
        expect_etag(&leaf.path, edit.expected_etag.as_deref(), &before)?;
        let indent = note.document().line(range.from.line).map(indentation).unwrap_or_default();
        let text = if edit.preserve_indent { indent_lines(&edit.text, indent) } else { edit.text.clone() };
        let mut document = note.document().clone();
        let cursor_after = document.replace(range, &text)?;
        let after = document.file_text();
        if NoteDocument::parse(&after).text() != document.text() {
            return Err(Fault::new(Failure::InvalidArguments, "a note cannot begin with U+FEFF")
                .hint("leave out the mark at the beginning of the text"));
        }
        let inserted_chars = utf16_len(&NoteDocument::parse(&text).text());
        let saved = note.saved().map(saved_note);
        let (path, saves) = (leaf.path, self.autosave);
        Ok(NoteEditPlan { path, range, cursor_after, inserted_chars, before, after, saves, saved })
    }

    /// Applies an edit to the note in memory. Fails with a conflict if the note is not active or has changed.
    pub(super) fn apply_edit(
        &self,
        path: &VaultPath,
        before: &Hash,
        after: &str,
        cursor: CursorPlacement,
        io: &dyn IoContext,
    ) -> Result<HostReply, Fault> {
        io.check_cancelled()?;
        let mut workspace = self.notes.workspace();
        let is_active = workspace.active().is_some_and(|leaf| leaf.path == *path);
        let is_unchanged = workspace.note(path).is_some_and(|note| note.has_content_hash(before));
        if !is_active || !is_unchanged {
            return Err(Fault::new(Failure::Conflict, format!("`{path}` changed before it was edited"))
                .hint("look at the note again, then decide on what it says now")
                .retryable(true));
        }
        if let Some(snapshot) = workspace.snapshot(path) {
            self.notes.remember_before_edit(path, snapshot);
        }
        let was_unsaved = workspace.note(path).is_some_and(OpenNote::is_unsaved);
        workspace.set_text(path, NoteDocument::parse(after));
        if let CursorPlacement::At(position) = cursor {
            workspace.select(CursorSelection::cursor(position));
        }
        drop(workspace);
        Ok(HostReply::EditApplied { was_unsaved, unsaved: self.notes.is_unsaved(path) })
    }
}

/// Returns the file of a note as the protocol describes it.
pub(super) fn saved_note(saved: &SavedContent) -> SavedNote {
    SavedNote { text: saved.text(), mode: Some(saved.state.mode) }
}

fn expect_etag(path: &VaultPath, expected: Option<&str>, text: &str) -> Result<(), Fault> {
    let now = etag_of(text.as_bytes());
    match expected {
        Some(expected) if expected != now => {
            Err(Fault::new(Failure::Conflict, format!("`{path}` has changed: it is not what was read"))
                .detail("expectedEtag", expected)
                .detail("currentEtag", now)
                .hint("read the note again, then decide on what it says now"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the spaces and tabs at the beginning of a line.
fn indentation(line: &str) -> &str {
    line.split_once(|c| c != ' ' && c != '\t').map_or(line, |(indent, _)| indent)
}

/// Returns a text whose lines after the first begin with `indent`. Empty lines stay empty.
fn indent_lines(text: &str, indent: &str) -> String {
    let plain = NoteDocument::parse(text).text();
    let lines = plain.split('\n').enumerate().map(|(at, line)| {
        if at == 0 || line.is_empty() { line.to_owned() } else { format!("{indent}{line}") }
    });
    lines.collect::<Vec<_>>().join("\n")
}
