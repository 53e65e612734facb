//! Changes that are only imagined: a layer over the vault that a preview writes to.
//!
//! Later steps of a plan see what earlier ones would have written, and the disk is never touched. The layer
//! knows what would have each name it was told about; everything else is what is on disk, at the path that a
//! move of it or of a folder above it would have taken it from. A step that could not be made on disk cannot
//! be made here either. Absent on purpose: links that would lead elsewhere once their folder is moved; they
//! lead where they lead now.

mod folder;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::{Change, EntryKind, Failure, Fault, FileState, VaultPath};

pub(super) use folder::{Base, Entry, Folder};

use self::folder::{File, Reached};
use super::change::Witness;
use super::etag::etag_of;
use super::fault;
use super::folder::{self as disk, Kind};
use super::locate::child;
use super::make_folder::in_the_way;
use super::relocate::{TRASH, in_trash};
use super::replace::{changed, gone};
use super::step::{Content, DEFAULT_MODE, Step};
use super::survey::{Seen, Survey};
use super::vault::Vault;
use super::write::Written;

/// How often a path is followed through links on disk to names that were imagined.
const MAX_ROUNDS: u32 = 16;

#[derive(Debug)]
pub(super) struct Layer {
    root: Mutex<Folder>,
    /// One step at a time: what was looked at is what is changed.
    turn: Mutex<()>,
}

/// Where a path leads.
pub(super) enum Lead {
    /// To this path on disk, if anything is there.
    Disk(VaultPath),
    /// To a folder that is only imagined.
    Folder,
    File {
        bytes: Arc<[u8]>,
        state: FileState,
    },
    /// Nowhere: this many of its names are missing.
    Nowhere {
        missing: usize,
    },
}

/// What a folder would hold.
pub(super) struct Children {
    /// Hidden names too; whatever is no folder counts as a file.
    pub(super) named: Vec<(String, EntryKind)>,
    /// Names on disk that are not text.
    pub(super) unreadable: u64,
}

impl Default for Layer {
    fn default() -> Layer {
        Layer { root: Mutex::new(Folder::new(Base::Vault)), turn: Mutex::default() }
    }
}

impl Layer {
    pub(super) fn root(&self) -> MutexGuard<'_, Folder> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a path through everything that was imagined. Links on disk are not followed.
    pub(super) fn lead(&self, path: &VaultPath) -> Result<Lead, Fault> {
        Ok(match self.root().reach(Some(path))? {
            Reached::File(file) => Lead::File { bytes: file.bytes.clone(), state: file.state },
            Reached::Disk { at, .. } => Lead::Disk(at),
            Reached::Nowhere { missing } => Lead::Nowhere { missing },
            Reached::Folder(folder) => match &folder.base {
                Base::Nothing | Base::Vault => Lead::Folder,
                Base::At(at) => Lead::Disk(at.clone()),
            },
        })
    }

    /// [`Layer::lead`] with links followed, and the path as it is spelled without them.
    pub(super) fn resolve(&self, vault: &Vault, path: &VaultPath) -> Result<(VaultPath, Lead), Fault> {
        let mut path = path.clone();
        for _ in 0..MAX_ROUNDS {
            let lead = self.lead(&path)?;
            let Lead::Disk(at) = &lead else { return Ok((path, lead)) };
            // What leads nowhere, or out of the vault, is told when it is looked at.
            let Some(real) = vault.real_path(at).filter(|real| real != at) else { return Ok((path, lead)) };
            let spelled = self.spelled(&path, &real)?;
            if spelled == path {
                return Ok((path, lead));
            }
            path = spelled;
        }
        Err(fault::restless(path.as_str()))
    }

    /// [`Layer::resolve`] for a name itself: a link in the last place is not followed.
    pub(super) fn resolve_entry(&self, vault: &Vault, path: &VaultPath) -> Result<VaultPath, Fault> {
        let Some(parent) = path.parent().filter(|_| !in_trash(path)) else { return Ok(path.clone()) };
        let (parent, _) = self.resolve(vault, &parent)?;
        parsed(&child(Some(&parent), path.name()))
    }

    /// The path under which something on disk would be found, where `path` led to it.
    fn spelled(&self, path: &VaultPath, real: &VaultPath) -> Result<VaultPath, Fault> {
        let root = self.root();
        let Reached::Disk { under, depth, .. } = root.reach(Some(path))? else { return Ok(real.clone()) };
        let Base::At(base) = &under.base else { return Ok(real.clone()) };
        // A link that leads out of the folder leads to where that is on disk.
        match real.as_str().strip_prefix(base.as_str()).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => {
                let above: Vec<&str> = path.segments().take(depth).collect();
                parsed(&format!("{}/{rest}", above.join("/")))
            }
            None => Ok(real.clone()),
        }
    }

    /// What a folder would hold; `None` is the vault. Nothing if it is no folder.
    pub(super) fn children(&self, vault: &Vault, folder: Option<&VaultPath>) -> Result<Children, Fault> {
        let root = self.root();
        let mut children = Children { named: Vec::new(), unreadable: 0 };
        let (said, base) = match root.reach(folder)? {
            Reached::Folder(folder) => (Some(folder), folder.base.clone()),
            Reached::Disk { at, .. } => (None, Base::At(at)),
            Reached::File(_) | Reached::Nowhere { .. } => return Ok(children),
        };
        for (name, entry) in said.into_iter().flat_map(Folder::iter) {
            match entry {
                Entry::Gone { .. } => {}
                Entry::File(_) | Entry::Moved(_) => children.named.push((name.to_owned(), EntryKind::File)),
                Entry::Folder(_) => children.named.push((name.to_owned(), EntryKind::Folder)),
            }
        }
        let Some(dir) = open_base(vault, &base)? else { return Ok(children) };
        let shown = folder.map_or("the vault", VaultPath::as_str);
        let names = disk::names(&dir).map_err(|error| fault::from_errno("list", shown, error))?;
        children.unreadable = names.unreadable;
        for named in names.named {
            if said.is_some_and(|folder| folder.get(&named.name).is_some()) {
                continue;
            }
            let looked = || disk::stat(&dir, &named.name).ok().map(|stat| disk::kind(&stat));
            let kind = match named.kind.or_else(looked) {
                Some(Kind::Folder) => EntryKind::Folder,
                Some(Kind::File | Kind::Link | Kind::Other) | None => EntryKind::File,
            };
            children.named.push((named.name, kind));
        }
        Ok(children)
    }

    /// The names in a folder that somebody has said something about, as far as `what` has a word for them;
    /// it is told where the folder has the name on disk.
    pub(super) fn said_in<T>(
        &self,
        folder: Option<&VaultPath>,
        what: impl Fn(Option<&VaultPath>, &Entry) -> Option<T>,
    ) -> Option<Vec<(String, T)>> {
        let root = self.root();
        let Ok(Reached::Folder(folder)) = root.reach(folder) else { return None };
        let said = folder.iter().filter_map(|(name, entry)| {
            Some((name.to_owned(), what(folder.base.slot(name).as_ref(), entry)?))
        });
        Some(said.collect())
    }

    /// What is there, in imagination, under this path or a twin of it.
    pub(super) fn twin(&self, vault: &Vault, path: &VaultPath) -> Result<Option<String>, Fault> {
        let parent = path.parent();
        if let Some(parent) = &parent
            && self.kind_at(vault, parent)? != Some(EntryKind::Folder)
        {
            return Ok(None);
        }
        let mut root = self.root();
        let Some(folder) = root.enter(parent.as_ref()) else { return Ok(None) };
        let base = folder.base.clone();
        let names_on_disk = || {
            let Some(dir) = open_base(vault, &base)? else { return Ok(Vec::new()) };
            let names = disk::names(&dir).map_err(|error| fault::from_errno("list", path.as_str(), error))?;
            Ok(names.named.into_iter().map(|named| named.name).collect())
        };
        let twin = folder.twin(path.name(), names_on_disk)?;
        Ok(twin.map(|name| child(parent.as_ref(), &name)))
    }

    /// What would be at a path, links followed.
    pub(super) fn survey(
        &self,
        vault: &Vault,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<Survey, Fault> {
        let (path, lead) = self.resolve(vault, path)?;
        let missing = |count: usize| -> Vec<VaultPath> {
            let above = std::iter::successors(path.parent(), VaultPath::parent);
            let mut folders: Vec<VaultPath> = above.take(count.saturating_sub(1)).collect();
            folders.reverse();
            folders
        };
        let (missing, seen) = match lead {
            Lead::Folder => (Vec::new(), Seen::Folder),
            Lead::File { state, .. } => (Vec::new(), Seen::File { state, mtime_ms: 0 }),
            Lead::Nowhere { missing: count } => (missing(count), Seen::Nothing),
            Lead::Disk(at) => {
                let found = vault.survey_as_it_stands(&at, witness)?;
                let above = match found.seen {
                    Seen::Nothing => missing(found.missing.len() + 1),
                    Seen::Folder | Seen::File { .. } | Seen::Other => Vec::new(),
                };
                (above, found.seen)
            }
        };
        Ok(Survey { missing, path, seen })
    }

    /// What would have this very name, also in the trash.
    pub(super) fn survey_entry(
        &self,
        vault: &Vault,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<Seen, Fault> {
        let path = self.resolve_entry(vault, path)?;
        Ok(match self.lead(&path)? {
            Lead::Folder => Seen::Folder,
            Lead::File { state, .. } => Seen::File { state, mtime_ms: 0 },
            Lead::Nowhere { .. } => Seen::Nothing,
            Lead::Disk(at) => match kind_on_disk(vault, &at)? {
                Some(EntryKind::Folder) => Seen::Folder,
                Some(EntryKind::File) => vault.survey_entry_on_disk(&at, witness)?,
                None => Seen::Nothing,
            },
        })
    }

    /// Whether the trash would have to be made.
    pub(super) fn misses_trash(&self, vault: &Vault) -> Result<bool, Fault> {
        self.kind_at(vault, &parsed(TRASH)?).map(|kind| kind.is_none())
    }

    fn kind_at(&self, vault: &Vault, path: &VaultPath) -> Result<Option<EntryKind>, Fault> {
        match self.lead(path)? {
            Lead::Folder => Ok(Some(EntryKind::Folder)),
            Lead::File { .. } => Ok(Some(EntryKind::File)),
            Lead::Nowhere { .. } => Ok(None),
            Lead::Disk(at) => kind_on_disk(vault, &at),
        }
    }

    /// Makes a step in imagination.
    pub(super) fn apply(
        &self,
        vault: &Vault,
        step: &Step,
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Step::MakeFolder { path } => self.make_folder(vault, path, witness).map(|()| None),
            Step::CreateFile { path, content, mode } => {
                self.create(vault, path, (content, *mode), witness).map(Some)
            }
            Step::ReplaceFile { path, before, content, mode } => {
                self.replace(vault, path, before, (content, *mode), witness).map(Some)
            }
            Step::RemoveFile { path, before } => self.remove(vault, path, before, witness).map(|()| None),
            Step::RemoveFolder { path } => self.remove_folder(vault, path, witness).map(|()| None),
            Step::Move { from, to, kind } => self.relocate(vault, from, to, *kind, witness).map(|()| None),
        }
    }

    fn make_folder(&self, vault: &Vault, path: &VaultPath, witness: &dyn Witness) -> Result<(), Fault> {
        let path = match in_trash(path) {
            true => path.clone(),
            false => self.resolve(vault, path)?.0,
        };
        match self.kind_at(vault, &path)? {
            Some(EntryKind::Folder) => Ok(()),
            Some(EntryKind::File) => Err(in_the_way(path.as_str())),
            None => self.make_missing(vault, &path, witness),
        }
    }

    /// Makes a folder that is not there, and those above it.
    fn make_missing(&self, vault: &Vault, path: &VaultPath, witness: &dyn Witness) -> Result<(), Fault> {
        let parent = path.parent();
        if let Some(parent) = &parent {
            match self.kind_at(vault, parent)? {
                Some(EntryKind::Folder) => {}
                Some(EntryKind::File) => return Err(fault::below_a_file(parent.as_str())),
                None => self.make_missing(vault, parent, witness)?,
            }
        }
        if let Some(existing) = self.twin(vault, path)? {
            return Err(fault::twin(path.as_str(), &existing));
        }
        self.root().enter(parent.as_ref()).ok_or_else(|| gone(path))?.make(path.name());
        witness.saw(Change::FolderCreated { path: path.to_string() });
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
            self.make_folder(vault, &parent, witness).map_err(|fault| {
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

    fn remove_folder(&self, vault: &Vault, path: &VaultPath, witness: &dyn Witness) -> Result<(), Fault> {
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
        witness.saw(Change::FolderRemoved { path: path.to_string() });
        Ok(())
    }

    fn relocate(
        &self,
        vault: &Vault,
        from: &VaultPath,
        to: &VaultPath,
        kind: EntryKind,
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
        self.refuse_taken(vault, &source, &target, kind)?;
        let entry = self.taken_from(&source, kind)?;
        self.put(&target, entry)?;
        witness.saw(Change::Moved { from: from.to_string(), to: to.to_string(), kind });
        Ok(())
    }

    /// That nothing is at the target of a move, under no spelling but the one that is moved.
    fn refuse_taken(
        &self,
        vault: &Vault,
        source: &VaultPath,
        target: &VaultPath,
        kind: EntryKind,
    ) -> Result<(), Fault> {
        let respelled = source.parent() == target.parent()
            && VaultPath::fold_name(source.name()) == VaultPath::fold_name(target.name());
        let existing = match respelled {
            true if source == target && kind == EntryKind::File => None,
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

/// The folder on disk that holds the names nobody has said anything about, if there is one.
fn open_base(vault: &Vault, base: &Base) -> Result<Option<Arc<cap_std::fs::Dir>>, Fault> {
    match base {
        Base::Nothing => Ok(None),
        Base::Vault => vault.open_folder(None).map(|open| Some(open.dir)),
        Base::At(at) if at.as_str() == TRASH => Ok(disk::open_folder(&vault.root, TRASH).ok().map(Arc::new)),
        Base::At(at) => vault.open_folder(Some(at)).map(|open| Some(open.dir)),
    }
}

/// What has this very name on disk, also in the trash; whatever is no folder counts as a file.
pub(super) fn kind_on_disk(vault: &Vault, at: &VaultPath) -> Result<Option<EntryKind>, Fault> {
    let kind = match at.as_str() == TRASH {
        true => disk::stat(&vault.root, TRASH).ok().map(|stat| disk::kind(&stat)),
        false => vault.entry_at(at)?.map(|place| place.kind()),
    };
    Ok(kind.map(|kind| match kind {
        Kind::Folder => EntryKind::Folder,
        Kind::File | Kind::Link | Kind::Other => EntryKind::File,
    }))
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

fn parsed(path: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse(path).map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

pub(super) fn taken(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` already exists"))
        .detail("existing", path.as_str())
        .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\"")
}
