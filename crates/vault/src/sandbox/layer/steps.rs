//! Steps made in imagination, each under the conditions under which the disk would take it.

use std::sync::{Arc, PoisonError};

use envelope::{Change, EntryKind, Failure, Fault, FileState, VaultPath};

use super::super::change::Witness;
use super::super::etag::etag_of;
use super::super::fault;
use super::super::make_folder::in_the_way;
use super::super::relocate::in_trash;
use super::super::replace::{changed, gone};
use super::super::step::{Baggage, Content, DEFAULT_MODE, Step};
use super::super::survey::{Seen, Survey};
use super::super::vault::Vault;
use super::super::write::Written;
use super::folder::{File, Reached};
use super::{Base, Entry, Folder, Layer, Lead, taken};

impl Layer {
    /// Makes a step in imagination.
    pub(in super::super) fn apply(
        &self,
        vault: &Vault,
        step: &Step,
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Step::MakeFolder { path, mode } => self.make_folder(vault, path, *mode, witness).map(|()| None),
            Step::CreateFile { path, content, mode } => {
                self.create(vault, path, (content, *mode), witness).map(Some)
            }
            Step::ReplaceFile { path, before, content, mode } => {
                self.replace(vault, path, before, (content, *mode), witness).map(Some)
            }
            Step::RemoveFile { path, before } => self.remove(vault, path, before, witness).map(|()| None),
            Step::RemoveFolder { path, mode } => {
                self.remove_folder(vault, path, *mode, witness).map(|()| None)
            }
            Step::Move { from, to, kind, baggage } => {
                self.relocate(vault, (from, to), *kind, baggage, witness).map(|()| None)
            }
        }
    }

    fn make_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let path = match in_trash(path) {
            true => path.clone(),
            false => self.resolve(vault, path)?.0,
        };
        match self.kind_at(vault, &path)? {
            Some(EntryKind::Folder) => Ok(()),
            Some(EntryKind::File) => Err(in_the_way(path.as_str())),
            None => self.make_missing(vault, &path, mode, witness),
        }
    }

    /// Makes a folder that is not there, and those above it.
    fn make_missing(
        &self,
        vault: &Vault,
        path: &VaultPath,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let parent = path.parent();
        if let Some(parent) = &parent {
            match self.kind_at(vault, parent)? {
                Some(EntryKind::Folder) => {}
                Some(EntryKind::File) => return Err(fault::below_a_file(parent.as_str())),
                None => self.make_missing(vault, parent, None, witness)?,
            }
        }
        if let Some(existing) = self.twin(vault, path)? {
            return Err(fault::twin(path.as_str(), &existing));
        }
        self.root().enter(parent.as_ref()).ok_or_else(|| gone(path))?.make(path.name());
        witness.saw(Change::FolderCreated { path: path.to_string(), mode });
        Ok(())
    }

    fn create(
        &self,
        vault: &Vault,
        path: &VaultPath,
        (content, mode): (&Content, Option<u32>),
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        Vault::refuse_protected(path)?;
        let path = self.resolve_entry(vault, path)?;
        if self.kind_at(vault, &path)?.is_some() {
            return Err(taken(&path));
        }
        if let Some(parent) = path.parent() {
            self.make_folder(vault, &parent, None, witness).map_err(|fault| {
                let blocked = matches!(self.kind_at(vault, &parent), Ok(Some(EntryKind::File)));
                if blocked { fault::below_a_file(parent.as_str()) } else { fault }
            })?;
        }
        if let Some(existing) = self.twin(vault, &path)? {
            return Err(fault::twin(path.as_str(), &existing));
        }
        let bytes = whole(content, witness)?;
        let state = Content::Bytes(bytes.clone()).state(mode.unwrap_or(DEFAULT_MODE));
        let etag = etag_of(&bytes);
        self.put(&path, Entry::File(File { bytes, state, origin: None }))?;
        witness.saw(Change::FileCreated { path: path.to_string(), after: state });
        Ok(Written { path, etag, mtime_ms: None, created: true })
    }

    fn replace(
        &self,
        vault: &Vault,
        path: &VaultPath,
        before: &FileState,
        (content, mode): (&Content, Option<u32>),
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        let Survey { path, seen, .. } = self.survey(vault, path, witness)?;
        let now = expected(&path, before, &seen)?;
        let origin = match self.root().reach(Some(&path))? {
            Reached::File(file) => file.origin.clone(),
            Reached::Disk { at, .. } => Some(at),
            Reached::Folder(_) | Reached::Nowhere { .. } => None,
        };
        let bytes = whole(content, witness)?;
        let state = Content::Bytes(bytes.clone()).state(mode.unwrap_or(now.mode));
        let etag = etag_of(&bytes);
        self.put(&path, Entry::File(File { bytes, state, origin }))?;
        witness.saw(Change::FileReplaced { path: path.to_string(), before: now, after: state });
        Ok(Written { path, etag, mtime_ms: None, created: false })
    }

    fn remove(
        &self,
        vault: &Vault,
        path: &VaultPath,
        before: &FileState,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let path = self.resolve_entry(vault, path)?;
        let now = expected(&path, before, &self.survey_entry(vault, &path, witness)?)?;
        self.take(&path)?;
        witness.saw(Change::FileRemoved { path: path.to_string(), before: now });
        Ok(())
    }

    fn remove_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let path = self.resolve_entry(vault, path)?;
        if self.kind_at(vault, &path)? != Some(EntryKind::Folder) {
            return Err(gone(&path));
        }
        let children = self.children(vault, Some(&path))?;
        if !children.named.is_empty() || children.unreadable > 0 {
            return Err(Fault::new(Failure::Conflict, format!("the folder `{path}` is not empty"))
                .hint("look at what is in it; it was not there when this was prepared"));
        }
        let mut root = self.root();
        // Entered first, so that it is known for what it is if it is made again.
        root.enter(Some(&path));
        let parent = root.enter(path.parent().as_ref()).ok_or_else(|| gone(&path))?;
        if let Some(Entry::Folder(folder)) = parent.take(path.name())
            && folder.base != Base::Nothing
        {
            parent.put(path.name(), Entry::Gone { emptied: Some(Box::new(folder)) });
        }
        witness.saw(Change::FolderRemoved { path: path.to_string(), mode });
        Ok(())
    }

    fn relocate(
        &self,
        vault: &Vault,
        (from, to): (&VaultPath, &VaultPath),
        kind: EntryKind,
        baggage: &Baggage,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        for path in [from, to] {
            // Only what is directly in the trash can be moved there or out of it.
            if !in_trash(path) || path.segments().count() != 2 {
                Vault::refuse_protected(path)?;
            }
        }
        let (source, target) = (self.resolve_entry(vault, from)?, self.resolve_entry(vault, to)?);
        if self.kind_at(vault, &source)? != Some(kind) {
            return Err(gone(from));
        }
        if let Some(parent) = target.parent() {
            match self.kind_at(vault, &parent)? {
                Some(EntryKind::Folder) => {}
                Some(EntryKind::File) => return Err(fault::below_a_file(parent.as_str())),
                None => return Err(Fault::new(Failure::NotFound, format!("`{parent}` does not exist"))),
            }
        }
        if target.as_str().strip_prefix(source.as_str()).is_some_and(|rest| rest.starts_with('/')) {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("`{from}` cannot be moved into itself (`{to}`)"),
            )
            .hint("choose a place that is not below it"));
        }
        self.refuse_taken(vault, &source, &target)?;
        let state = match (baggage, kind) {
            (Baggage { before: Some(before), exactly: true, .. }, _) => {
                Some(expected(from, before, &self.survey_entry(vault, &source, witness)?)?)
            }
            (_, EntryKind::File) => match self.survey_entry(vault, &source, witness)? {
                Seen::File { state, .. } => Some(state),
                Seen::Nothing | Seen::Folder | Seen::Other => None,
            },
            (_, EntryKind::Folder) => None,
        };
        let entry = self.taken_from(&source, kind)?;
        self.put(&target, entry)?;
        let (from, to) = (from.to_string(), to.to_string());
        witness.saw(Change::Moved { from, to, kind, state, kept: baggage.kept.clone() });
        Ok(())
    }

    /// That nothing is at the target of a move, under no spelling but the one that is moved.
    fn refuse_taken(&self, vault: &Vault, source: &VaultPath, target: &VaultPath) -> Result<(), Fault> {
        let respelled = source.parent() == target.parent()
            && VaultPath::fold_name(source.name()) == VaultPath::fold_name(target.name());
        let existing = match respelled {
            true => self.kind_at(vault, target)?.map(|_| target.to_string()),
            false => self.twin(vault, target)?,
        };
        match existing {
            None => Ok(()),
            Some(existing) if existing == target.as_str() => Err(taken(target)),
            Some(existing) => Err(fault::twin(target.as_str(), &existing)),
        }
    }

    /// Takes something away to be put elsewhere.
    fn taken_from(&self, path: &VaultPath, kind: EntryKind) -> Result<Entry, Fault> {
        let on_disk = match self.lead(path)? {
            Lead::Disk(at) => Some(at),
            Lead::Folder | Lead::File { .. } | Lead::Nowhere { .. } => None,
        };
        match (self.take(path)?, on_disk, kind) {
            (Some(entry @ (Entry::File(_) | Entry::Moved(_) | Entry::Folder(_))), _, _) => Ok(entry),
            (Some(Entry::Gone { .. }) | None, Some(at), EntryKind::File) => Ok(Entry::Moved(at)),
            (Some(Entry::Gone { .. }) | None, Some(at), EntryKind::Folder) => {
                Ok(Entry::Folder(Folder::new(Base::At(at))))
            }
            (Some(Entry::Gone { .. }) | None, None, _) => Err(gone(path)),
        }
    }

    fn take(&self, path: &VaultPath) -> Result<Option<Entry>, Fault> {
        let mut root = self.root();
        Ok(root.enter(path.parent().as_ref()).ok_or_else(|| gone(path))?.take(path.name()))
    }

    fn put(&self, path: &VaultPath, entry: Entry) -> Result<(), Fault> {
        let mut root = self.root();
        root.enter(path.parent().as_ref()).ok_or_else(|| gone(path))?.put(path.name(), entry);
        Ok(())
    }
}

/// That exactly `before` is there.
fn expected(path: &VaultPath, before: &FileState, seen: &Seen) -> Result<FileState, Fault> {
    match seen {
        Seen::File { state, .. } if state.hash == before.hash => Ok(*state),
        Seen::File { state, .. } => Err(changed(path, before, state)),
        Seen::Nothing | Seen::Folder | Seen::Other => Err(gone(path)),
    }
}

fn whole(content: &Content, witness: &dyn Witness) -> Result<Arc<[u8]>, Fault> {
    match content {
        Content::Bytes(bytes) => Ok(bytes.clone()),
        Content::Kept(_) => {
            let mut bytes = Vec::new();
            content.write_to(&mut bytes, witness)?;
            Ok(bytes.into())
        }
    }
}
