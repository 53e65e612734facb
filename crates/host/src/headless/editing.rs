//! Edits of the active note: worked out on a copy, then made in memory and on disk, or not at all.

use std::sync::Arc;

use envelope::{Failure, Fault, VaultPath};
use vault::{Content, OpenNotes as _, Step, Witness, etag_of};

use super::HeadlessHost;
use super::looking::closed;
use crate::desk::Selection;
use crate::document::Document;
use crate::host::{Edit, Edited, FileWork, ForeseenEdit, Target};
use crate::note::{Note, Saved};
use crate::position::{EditorRange, utf16_len};

/// Where the cursor goes with an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    /// After the text that was put in.
    AfterText,
    /// It stays with the text around it, and so does the selection.
    Carried,
}

impl HeadlessHost {
    pub(super) fn plan_edit(&self, edit: &Edit, witness: &dyn Witness) -> Result<ForeseenEdit, Fault> {
        let leaf = self.active_note(witness)?;
        let desk = self.notes.desk();
        let Some(note) = desk.note(&leaf.path) else { return Err(closed(&leaf.path)) };
        let range = match edit.target {
            Target::Selection => leaf.selection.range(),
            Target::Cursor => EditorRange::at(leaf.selection.head),
            Target::Range(range) => range,
        };
        note.document().check(range)?;
        let before = note.document().file_text();
        expect_etag(&leaf.path, edit.expected_etag.as_deref(), &before)?;
        let indent = note.document().line(range.from.line).map(indentation).unwrap_or_default();
        let text = if edit.preserve_indent { indented(&edit.text, indent) } else { edit.text.clone() };
        let mut document = note.document().clone();
        let cursor_after = document.replace(range, &text)?;
        let after = document.file_text();
        if Document::parse(&after).text() != document.text() {
            return Err(Fault::new(Failure::InvalidArguments, "a note cannot begin with U+FEFF")
                .hint("leave out the mark at the beginning of the text"));
        }
        let files = match self.autosave {
            true => save_work(&leaf.path, note, &after),
            false => FileWork::default(),
        };
        let inserted_chars = utf16_len(&Document::parse(&text).text());
        let etag = etag_of(after.as_bytes());
        let edited = Edited { path: leaf.path, range, cursor_after, inserted_chars, etag };
        Ok(ForeseenEdit { files, edited, before: before.into(), after: after.into() })
    }

    /// Makes the edit; true when the note is left unsaved. What cannot be saved is not done.
    pub(super) fn make_edit(
        &self,
        foreseen: &ForeseenEdit,
        cursor: Cursor,
        witness: &dyn Witness,
    ) -> Result<bool, Fault> {
        let path = &foreseen.edited.path;
        witness.may_go_on()?;
        let was_unsaved;
        let stash = {
            let mut desk = self.notes.desk();
            let is_active = desk.active().is_some_and(|leaf| leaf.path == *path);
            let as_foreseen =
                desk.note(path).is_some_and(|note| note.document().file_text() == *foreseen.before);
            if !is_active || !as_foreseen {
                return Err(Fault::new(Failure::Conflict, format!("`{path}` changed before it was edited"))
                    .hint("look at the note again, then decide on what it says now")
                    .retryable(true));
            }
            let stash = desk.stash(path);
            was_unsaved = desk.note(path).is_some_and(Note::is_unsaved);
            desk.take(path, Document::parse(&foreseen.after));
            if cursor == Cursor::AfterText {
                desk.select(Selection::cursor(foreseen.edited.cursor_after));
            }
            stash
        };
        if let Err(fault) = self.save(&foreseen.files, witness) {
            if let Some(stash) = stash {
                self.notes.desk().restore(path, stash);
            }
            return Err(if was_unsaved { both_kept(fault) } else { fault });
        }
        Ok(self.notes.desk().note(path).is_some_and(Note::is_unsaved))
    }

    /// Writes what is prepared, and takes note that it is written.
    pub(super) fn save(&self, files: &FileWork, witness: &dyn Witness) -> Result<(), Fault> {
        self.vault.apply(&files.prepared, witness)?;
        for step in &files.prepared.steps {
            if let Step::ReplaceFile { path, content, .. } | Step::CreateFile { path, content, .. } = step
                && let Content::Bytes(bytes) = content
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                self.notes.saved(path, text);
            }
        }
        Ok(())
    }
}

/// A conflict over notes with unsaved text says what became of both sides.
pub(super) fn both_kept(fault: Fault) -> Fault {
    if fault.failure != Failure::Conflict {
        return fault;
    }
    let message = format!("{}; its unsaved text is kept here, and the file as it is on disk", fault.message);
    Fault { message, ..fault }.hint(
        "read the note and keep its text in another file with vault.createFile; then run the command \
         `app:reload`, which takes what is on disk",
    )
}

/// What has to be written so that a note is saved with this text; nothing when it is on disk like that.
pub(super) fn save_work(path: &VaultPath, note: &Note, text: &str) -> FileWork {
    let content = Content::of(text.as_bytes());
    let (step, overwritten) = match note.saved() {
        Some(saved) if *saved.bytes == *text.as_bytes() => return FileWork::default(),
        Some(Saved { bytes, state }) => (
            Step::ReplaceFile { path: path.clone(), before: *state, content, mode: None },
            vec![bytes.clone()],
        ),
        None => (Step::CreateFile { path: path.clone(), content, mode: None }, Vec::<Arc<[u8]>>::new()),
    };
    let mut files = FileWork { overwritten, ..FileWork::default() };
    files.prepared.steps.push(step);
    files
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

/// The spaces and tabs that a line begins with.
fn indentation(line: &str) -> &str {
    line.split_once(|c| c != ' ' && c != '\t').map_or(line, |(indent, _)| indent)
}

/// A text whose lines after the first begin with `indent`. Empty lines stay empty.
fn indented(text: &str, indent: &str) -> String {
    let plain = Document::parse(text).text();
    let lines = plain.split('\n').enumerate().map(|(at, line)| {
        if at == 0 || line.is_empty() { line.to_owned() } else { format!("{indent}{line}") }
    });
    lines.collect::<Vec<_>>().join("\n")
}
