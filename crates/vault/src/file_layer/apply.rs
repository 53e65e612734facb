//! Applies prepared steps in order, each only to the state that it was prepared for.

use std::io::Read;
use std::sync::Arc;

use envelope::{Fault, FileState, VaultPath};

use super::change_step::{ChangeStep, FileContent, OverwriteKind, OverwrittenFile, PreparedSteps};
use super::fault;
use super::io_context::IoContext;
use super::make_folder::not_a_folder;
use super::open_notes::{NoteStatus, OpenNoteWrite, OpenNotes};
use super::relocate::{TRASH, in_trash};
use super::replace::content_changed;
use super::vault::Vault;
use super::write::WrittenFile;

/// Progress is reported above this number of steps.
const QUIET_STEPS: usize = 16;

impl Vault {
    /// Stores everything that the steps overwrite or remove, so that each step can be undone. Durable on return.
    pub fn store_overwritten(&self, prepared: &PreparedSteps, io: &dyn IoContext) -> Result<(), Fault> {
        self.files.store_overwritten(self, prepared, io)
    }

    pub(super) fn store_overwritten_on_disk(
        &self,
        prepared: &PreparedSteps,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        for OverwrittenFile { path, before, how } in &prepared.overwritten() {
            io.check_cancelled()?;
            let unsaved = self.unsaved_text(path)?;
            match (how, unsaved) {
                // The text that the host shows is the one that is replaced.
                (OverwriteKind::Replaced, Some(text)) => {
                    store_exactly(path, before, &mut text.as_bytes(), io)?;
                }
                (OverwriteKind::Replaced, None) => self.store_from_disk(path, before, io)?,
                // The file on disk is removed. The unsaved text stays in the host and is stored as well.
                (OverwriteKind::Removed, unsaved) => {
                    if let Some(text) = unsaved {
                        io.store(&mut text.as_bytes())?;
                    }
                    self.store_from_disk(path, before, io)?;
                }
                // An edit moves with its file, so other content than expected is not a conflict.
                (OverwriteKind::Trashed, unsaved) => {
                    if let Some(text) = unsaved {
                        io.store(&mut text.as_bytes())?;
                    }
                    if let Ok(mut open) = self.open_entry(path) {
                        io.store(&mut open.file)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn store_from_disk(&self, path: &VaultPath, before: &FileState, io: &dyn IoContext) -> Result<(), Fault> {
        let mut open = self.open_entry(path)?;
        store_exactly(path, before, &mut open.file, io)
    }

    /// Applies the steps. Stops at the first that fails; the changes made by then have been reported to `io`.
    /// Returns the file that was written last.
    pub fn apply(&self, prepared: &PreparedSteps, io: &dyn IoContext) -> Result<Option<WrittenFile>, Fault> {
        let total = prepared.steps.len();
        let mut last = None;
        for (done, step) in prepared.steps.iter().enumerate() {
            io.check_cancelled()?;
            if let Some(written) = self.apply_step(step, io)? {
                last = Some(written);
            }
            if total > QUIET_STEPS && (done + 1) % QUIET_STEPS == 0 {
                io.progress(done as u64 + 1, total as u64, "changing files");
            }
        }
        Ok(last)
    }

    /// Applies one step.
    pub(crate) fn apply_step(
        &self,
        step: &ChangeStep,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        self.files.apply_step(self, step, io)
    }

    pub(super) fn make_step(
        &self,
        step: &ChangeStep,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        match step {
            ChangeStep::MakeFolder { path, .. } if path.as_str() == TRASH => {
                self.make_trash(io).map(|()| None)
            }
            ChangeStep::MakeFolder { path, mode } => {
                self.open_or_make(path, *mode, io, not_a_folder).map(|_| None)
            }
            ChangeStep::CreateFile { path, content, mode } => {
                self.create_with(path, content, *mode, io).map(Some)
            }
            ChangeStep::ReplaceFile { path, before, content, mode } => {
                self.replace_through_host(path, before, (content, *mode), io).map(Some)
            }
            ChangeStep::RemoveFile { path, before } => self.remove_exactly(path, before, io).map(|()| None),
            ChangeStep::RemoveFolder { path, mode } => self.remove_folder(path, *mode, io).map(|()| None),
            ChangeStep::Move { from, to, kind, details } => {
                self.relocate((from, to), *kind, details, io).map(|()| None)
            }
        }
    }

    /// Replaces a file. An open note is edited through its host and saved.
    fn replace_through_host(
        &self,
        path: &VaultPath,
        before: &FileState,
        (content, mode): (&FileContent, Option<u32>),
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        let Some(host) = self.host.get().filter(|host| host.status(path) != NoteStatus::NotOpen) else {
            return self.replace_exactly(path, before, content, mode, io);
        };
        let mut bytes = Vec::new();
        content.write_to(&mut bytes, io)?;
        let text = String::from_utf8(bytes);
        // Content that is not UTF-8 is not a note, so no host has it open as text.
        let Ok(text) = text else {
            return self.replace_exactly(path, before, content, mode, io);
        };
        match self.write_open_note(host, (path, before, &text, mode), io)? {
            OpenNoteWrite::NotOpen => self.replace_exactly(path, before, content, mode, io),
            OpenNoteWrite::HostSaved(written) => Ok(written),
            // The file must still be as the host last saw it, so that no other program's write is lost.
            OpenNoteWrite::VaultWrites { on_disk } => {
                let written = self.replace_as(path, &on_disk, before, (content, mode), io);
                match &written {
                    Ok(_) => host.saved(path, &text),
                    Err(_) => host.not_saved(path, &text),
                }
                written
            }
        }
    }

    fn create_with(
        &self,
        path: &VaultPath,
        content: &FileContent,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        if in_trash(path) {
            return Err(fault::protected(path.as_str(), TRASH));
        }
        self.create_content(path, content, mode, io)
    }
}

/// Stores content and checks that it is the content that the record will name.
fn store_exactly(
    path: &VaultPath,
    before: &FileState,
    content: &mut dyn Read,
    io: &dyn IoContext,
) -> Result<(), Fault> {
    match io.store(content)? {
        Some(kept) if kept.hash != before.hash => {
            let now = FileState { hash: kept.hash, bytes: kept.bytes, mode: before.mode };
            Err(content_changed(path, before, &now))
        }
        Some(_) | None => Ok(()),
    }
}

/// Tells a host what became of files that it may have open.
pub(super) fn notify_host(host: Option<&Arc<dyn OpenNotes>>, step: &ChangeStep) {
    let Some(host) = host else { return };
    match step {
        ChangeStep::RemoveFile { path, .. } => host.removed(path),
        ChangeStep::Move { from, to, .. } if in_trash(to) => host.removed(from),
        ChangeStep::Move { from, to, .. } => host.moved(from, to),
        ChangeStep::MakeFolder { .. }
        | ChangeStep::CreateFile { .. }
        | ChangeStep::ReplaceFile { .. }
        | ChangeStep::RemoveFolder { .. } => {}
    }
}
