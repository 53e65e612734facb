//! What a preview would change, compared with the disk: the difference of two trees, not a list of steps.
//!
//! A file that was written and removed again is no change, nor is one that ends as it was. Only states are
//! kept here; contents are read one at a time by whoever wants to see them.

use std::collections::HashSet;

use envelope::{EntryKind, Fault, FileState, Hash, VaultPath};

use super::change::Witness;
use super::layer::{Base, Entry, Folder, Layer, kind_on_disk};
use super::relocate::in_trash;
use super::survey::Seen;
use super::vault::Vault;

/// One file or folder that would not stay as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    /// Where it would be; of what would go, where it is.
    pub path: VaultPath,
    pub kind: EntryKind,
    pub fate: Fate,
    /// Where it is now, if that is elsewhere: because it would be moved, or a folder above it.
    pub from: Option<VaultPath>,
    /// Of a file that is there now; of a folder that would go or move, what stands for all that is in it.
    pub before: Option<FileState>,
    /// Of a file that would be there.
    pub after: Option<FileState>,
}

/// What would become of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Created,
    Changed,
    /// And perhaps changed too.
    Moved,
    Trashed,
    /// For good.
    Removed,
}

impl Vault {
    /// Everything that was imagined and differs from the disk, in the order of the paths. Nothing for a vault
    /// without a layer.
    pub fn foreseen(&self, witness: &dyn Witness) -> Result<Vec<Foreseen>, Fault> {
        let Some(layer) = &self.layer else { return Ok(Vec::new()) };
        let mut looking = Looking { vault: self, witness, moved: HashSet::new(), found: Vec::new() };
        looking.look(layer)?;
        let mut found = looking.found;
        found.sort_by(|a, b| a.path.segments().cmp(b.path.segments()).then_with(|| a.fate.cmp(&b.fate)));
        Ok(found)
    }

    /// The content of a file before, up to 64 MiB; `None` if there was none.
    pub fn before(&self, file: &Foreseen, witness: &dyn Witness) -> Result<Option<Vec<u8>>, Fault> {
        match (file.kind, file.before) {
            (EntryKind::File, Some(_)) => {
                self.load_as_it_stands(file.from.as_ref().unwrap_or(&file.path), witness).map(Some)
            }
            (EntryKind::File, None) | (EntryKind::Folder, _) => Ok(None),
        }
    }

    /// The content of a file after, up to 64 MiB; `None` if there would be none.
    pub fn after(&self, file: &Foreseen, witness: &dyn Witness) -> Result<Option<Vec<u8>>, Fault> {
        match file.after {
            Some(_) => self.load(&file.path, witness).map(|loaded| Some(loaded.bytes)),
            None => Ok(None),
        }
    }
}

struct Looking<'a> {
    vault: &'a Vault,
    witness: &'a dyn Witness,
    /// What is on disk and would still be somewhere.
    moved: HashSet<VaultPath>,
    found: Vec<Foreseen>,
}

/// A file or folder that somebody has said something about, without its lock.
struct Said {
    path: VaultPath,
    /// Where the disk has this name.
    slot: Option<VaultPath>,
    what: What,
}

enum What {
    Nothing,
    File { state: FileState, origin: Option<VaultPath> },
    Moved(VaultPath),
    Folder(Base),
}

impl Looking<'_> {
    fn look(&mut self, layer: &Layer) -> Result<(), Fault> {
        let mut said = Vec::new();
        collect(&layer.root(), None, &mut said);
        self.moved = said.iter().filter_map(|said| said.what.origin().cloned()).collect();
        for said in said {
            self.witness.may_go_on()?;
            self.compare(said)?;
        }
        Ok(())
    }

    fn compare(&mut self, said: Said) -> Result<(), Fault> {
        let Said { path, slot, what } = said;
        let here = what.origin().is_some() && what.origin() == slot.as_ref();
        let replaced = match &slot {
            Some(slot) if !here && !self.moved.contains(slot) => kind_on_disk(self.vault, slot)?,
            Some(_) | None => None,
        };
        match (what, replaced, slot) {
            (What::File { state, origin: None }, Some(EntryKind::File), Some(slot)) => {
                self.changed(path, slot, state)
            }
            (what, replaced, slot) => {
                if let (Some(kind), Some(slot)) = (replaced, slot) {
                    self.lost(slot, kind)?;
                }
                self.gained(path, what, here)
            }
        }
    }

    /// What would be at a path that is not there, or not so, on disk.
    fn gained(&mut self, path: VaultPath, what: What, here: bool) -> Result<(), Fault> {
        let trashed = in_trash(&path);
        match what {
            What::Nothing => Ok(()),
            // What would be new in the trash was never seen outside of it.
            What::File { origin: None, .. } | What::Folder(Base::Nothing) if trashed => Ok(()),
            What::File { .. } if here && trashed => Ok(()),
            What::File { state, origin: Some(at) } if here => self.changed(path, at, state),
            What::File { origin: Some(at), .. } | What::Moved(at) if trashed => {
                self.trashed(at, EntryKind::File)
            }
            What::File { state, origin: Some(at) } => self.moved_file(path, at, Some(state)),
            What::Moved(at) => self.moved_file(path, at, None),
            What::File { state, origin: None } => {
                self.add(path, EntryKind::File, Fate::Created, None, (None, Some(state)));
                Ok(())
            }
            What::Folder(Base::At(at)) if !here && trashed => self.trashed(at, EntryKind::Folder),
            What::Folder(Base::At(at)) if !here => {
                let before = self.digest(&at)?;
                self.add(path, EntryKind::Folder, Fate::Moved, Some(at), (Some(before), None));
                Ok(())
            }
            What::Folder(Base::Nothing) => {
                self.add(path, EntryKind::Folder, Fate::Created, None, (None, None));
                Ok(())
            }
            What::Folder(Base::Vault | Base::At(_)) => Ok(()),
        }
    }

    fn changed(&mut self, path: VaultPath, at: VaultPath, after: FileState) -> Result<(), Fault> {
        let before = self.state(&at)?;
        if before.is_some_and(|before| before.hash == after.hash) {
            return Ok(());
        }
        let from = (at != path).then_some(at);
        self.add(path, EntryKind::File, Fate::Changed, from, (before, Some(after)));
        Ok(())
    }

    fn moved_file(&mut self, path: VaultPath, at: VaultPath, after: Option<FileState>) -> Result<(), Fault> {
        let before = self.state(&at)?;
        self.add(path, EntryKind::File, Fate::Moved, Some(at), (before, after.or(before)));
        Ok(())
    }

    fn trashed(&mut self, at: VaultPath, kind: EntryKind) -> Result<(), Fault> {
        let before = match kind {
            EntryKind::File => self.state(&at)?,
            EntryKind::Folder => Some(self.digest(&at)?),
        };
        self.add(at, kind, Fate::Trashed, None, (before, None));
        Ok(())
    }

    /// What stands for everything in a folder that goes or moves as a whole: its names, sizes and times. A note
    /// that is added or edited in it after a preview must show; to read all of it would take too long.
    fn digest(&self, at: &VaultPath) -> Result<FileState, Fault> {
        let mut hasher = blake3::Hasher::new();
        let mut bytes = 0;
        let mut todo = vec![at.clone()];
        while let Some(folder) = todo.pop() {
            self.witness.may_go_on()?;
            for (name, kind) in Layer::default().children(self.vault, Some(&folder))?.named {
                let Ok(path) = folder.join(&name) else { continue };
                hasher.update(path.as_str().as_bytes()).update(&[0]);
                match kind {
                    EntryKind::Folder => todo.push(path),
                    EntryKind::File => {
                        let Some(place) = self.vault.entry_at(&path)? else { continue };
                        let stat = place.stat;
                        bytes += u64::try_from(stat.st_size).unwrap_or_default();
                        hasher.update(&stat.st_size.to_le_bytes());
                        hasher.update(&stat.st_mtime.to_le_bytes()).update(&stat.st_mtime_nsec.to_le_bytes());
                    }
                }
            }
        }
        Ok(FileState { hash: Hash::from_bytes(*hasher.finalize().as_bytes()), bytes, mode: 0 })
    }

    /// Something on disk that would be nowhere any more, with what is in it and was not moved out.
    fn lost(&mut self, at: VaultPath, kind: EntryKind) -> Result<(), Fault> {
        let mut todo = vec![(at, kind)];
        while let Some((at, kind)) = todo.pop() {
            self.witness.may_go_on()?;
            if self.moved.contains(&at) {
                continue;
            }
            let before = match kind {
                EntryKind::File => self.state(&at)?,
                EntryKind::Folder => {
                    let below = Layer::default().children(self.vault, Some(&at))?;
                    let below = below.named.into_iter();
                    todo.extend(below.filter_map(|(name, kind)| Some((at.join(&name).ok()?, kind))));
                    None
                }
            };
            self.add(at, kind, Fate::Removed, None, (before, None));
        }
        Ok(())
    }

    /// The state of a file on disk; `None` for what is no file, such as a link that leads nowhere.
    fn state(&self, at: &VaultPath) -> Result<Option<FileState>, Fault> {
        let seen = match in_trash(at) {
            true => self.vault.survey_entry_on_disk(at, self.witness)?,
            false => self.vault.survey_as_it_stands(at, self.witness)?.seen,
        };
        Ok(match seen {
            Seen::File { state, .. } => Some(state),
            Seen::Nothing | Seen::Folder | Seen::Other => None,
        })
    }

    fn add(
        &mut self,
        path: VaultPath,
        kind: EntryKind,
        fate: Fate,
        from: Option<VaultPath>,
        (before, after): (Option<FileState>, Option<FileState>),
    ) {
        self.found.push(Foreseen { path, kind, fate, from, before, after });
    }
}

impl What {
    /// Where on disk it comes from.
    fn origin(&self) -> Option<&VaultPath> {
        match self {
            What::File { origin, .. } => origin.as_ref(),
            What::Moved(at) | What::Folder(Base::At(at)) => Some(at),
            What::Nothing | What::Folder(Base::Nothing | Base::Vault) => None,
        }
    }
}

/// Everything that somebody has said something about, a folder before what is in it.
fn collect(folder: &Folder, above: Option<&VaultPath>, said: &mut Vec<Said>) {
    for (name, entry) in folder.iter() {
        let joined = match above {
            Some(above) => above.join(name),
            None => VaultPath::parse(name),
        };
        let Ok(path) = joined else { continue };
        let slot = folder.base.slot(name);
        let what = match entry {
            Entry::Gone { .. } => What::Nothing,
            Entry::File(file) => What::File { state: file.state, origin: file.origin.clone() },
            Entry::Moved(at) => What::Moved(at.clone()),
            Entry::Folder(below) => What::Folder(below.base.clone()),
        };
        said.push(Said { path: path.clone(), slot, what });
        if let Entry::Folder(below) = entry {
            collect(below, Some(&path), said);
        }
    }
}
