//! Making a prepared change: the steps in order, each checked against what it takes the place of.

use std::io::Read;
use std::sync::Arc;

use envelope::{Fault, FileState, VaultPath};

use super::change::Witness;
use super::fault;
use super::make_folder::in_the_way;
use super::open_notes::OpenNotes;
use super::relocate::{TRASH, in_trash};
use super::replace::changed;
use super::step::{Content, How, Overwritten, Prepared, Step};
use super::vault::Vault;
use super::write::Written;

/// More steps than this are told as progress.
const QUIET_STEPS: usize = 16;

impl Vault {
    /// Keeps everything that the steps would overwrite or remove, so that each of them can be taken back.
    /// Durable when this returns.
    pub fn keep_overwritten(&self, prepared: &Prepared, witness: &dyn Witness) -> Result<(), Fault> {
        if self.layer.is_some() {
            return Ok(());
        }
        for Overwritten { path, before, how } in &prepared.overwritten() {
            witness.may_go_on()?;
            let unsaved = self.host.get().and_then(|host| host.unsaved(path));
            match (how, unsaved) {
                // What is on the screen is what is replaced.
                (How::Replaced, Some(text)) => keep_exactly(path, before, &mut text.as_bytes(), witness)?,
                (How::Replaced, None) => self.keep_from_disk(path, before, witness)?,
                // What is on disk goes; the text on the screen stays there, and is kept all the same.
                (How::Removed, unsaved) => {
                    if let Some(text) = unsaved {
                        witness.keep(&mut text.as_bytes())?;
                    }
                    self.keep_from_disk(path, before, witness)?;
                }
                // An edit moves with its file, so that another content than expected is no conflict.
                (How::Trashed, unsaved) => {
                    if let Some(text) = unsaved {
                        witness.keep(&mut text.as_bytes())?;
                    }
                    if let Ok(mut open) = self.open_entry(path) {
                        witness.keep(&mut open.file)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn keep_from_disk(
        &self,
        path: &VaultPath,
        before: &FileState,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let mut open = self.open_entry(path)?;
        keep_exactly(path, before, &mut open.file, witness)
    }

    /// Makes the steps. Stops at the first that cannot be made; what was made by then is told to the witness.
    /// Returns what the last step that wrote a file wrote.
    pub fn apply(&self, prepared: &Prepared, witness: &dyn Witness) -> Result<Option<Written>, Fault> {
        let total = prepared.steps.len();
        let mut last = None;
        for (done, step) in prepared.steps.iter().enumerate() {
            witness.may_go_on()?;
            if let Some(written) = self.apply_step(step, witness)? {
                last = Some(written);
            }
            if total > QUIET_STEPS && (done + 1) % QUIET_STEPS == 0 {
                witness.progress(done as u64 + 1, total as u64, "changing files");
            }
        }
        Ok(last)
    }

    /// Makes one step.
    pub(crate) fn apply_step(&self, step: &Step, witness: &dyn Witness) -> Result<Option<Written>, Fault> {
        if let Some(layer) = &self.layer {
            let written = layer.apply(self, step, witness)?;
            tell(self.imagined_host.get(), step);
            return Ok(written);
        }
        let written = self.make_step(step, witness)?;
        tell(self.host.get(), step);
        Ok(written)
    }

    fn make_step(&self, step: &Step, witness: &dyn Witness) -> Result<Option<Written>, Fault> {
        match step {
            Step::MakeFolder { path, .. } if path.as_str() == TRASH => {
                self.make_trash(witness).map(|()| None)
            }
            Step::MakeFolder { path, mode } => {
                self.open_or_make(path, *mode, witness, in_the_way).map(|_| None)
            }
            Step::CreateFile { path, content, mode } => {
                self.create_with(path, content, *mode, witness).map(Some)
            }
            Step::ReplaceFile { path, before, content, mode } => {
                self.replace_through_host(path, before, (content, *mode), witness).map(Some)
            }
            Step::RemoveFile { path, before } => self.remove_exactly(path, before, witness).map(|()| None),
            Step::RemoveFolder { path, mode } => self.remove_folder(path, *mode, witness).map(|()| None),
            Step::Move { from, to, kind, baggage } => {
                self.relocate((from, to), *kind, baggage, witness).map(|()| None)
            }
        }
    }

    /// Replaces a file; a note that is open is edited where it is open, and saved.
    fn replace_through_host(
        &self,
        path: &VaultPath,
        before: &FileState,
        (content, mode): (&Content, Option<u32>),
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        let Some(host) = self.host.get().filter(|host| host.is_open(path)) else {
            return self.replace_exactly(path, before, content, mode, witness);
        };
        let mut bytes = Vec::new();
        content.write_to(&mut bytes, witness)?;
        let text = String::from_utf8(bytes);
        let open = match &text {
            Ok(text) => host.edit(path, before, text)?,
            // No note: nothing that could be open as text.
            Err(_) => None,
        };
        // What another program has written since the host looked is not overwritten unread.
        let on_disk = open.unwrap_or(*before);
        let written = self.replace_as(path, &on_disk, before, (content, mode), witness);
        if let (Some(_), Ok(text)) = (open, &text) {
            match &written {
                Ok(_) => host.saved(path, text),
                Err(_) => host.not_saved(path),
            }
        }
        written
    }

    fn create_with(
        &self,
        path: &VaultPath,
        content: &Content,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        if in_trash(path) {
            return Err(fault::protected(path.as_str(), TRASH));
        }
        self.create_content(path, content, mode, witness)
    }
}

/// Keeps content and makes sure that it is what the record will say was there.
fn keep_exactly(
    path: &VaultPath,
    before: &FileState,
    content: &mut dyn Read,
    witness: &dyn Witness,
) -> Result<(), Fault> {
    match witness.keep(content)? {
        Some(kept) if kept.hash != before.hash => {
            let now = FileState { hash: kept.hash, bytes: kept.bytes, mode: before.mode };
            Err(changed(path, before, &now))
        }
        Some(_) | None => Ok(()),
    }
}

/// Tells a host what became of files that it may have open.
fn tell(host: Option<&Arc<dyn OpenNotes>>, step: &Step) {
    let Some(host) = host else { return };
    match step {
        Step::RemoveFile { path, .. } => host.removed(path),
        Step::Move { from, to, .. } if in_trash(to) => host.removed(from),
        Step::Move { from, to, .. } => host.moved(from, to),
        Step::MakeFolder { .. }
        | Step::CreateFile { .. }
        | Step::ReplaceFile { .. }
        | Step::RemoveFolder { .. } => {}
    }
}
