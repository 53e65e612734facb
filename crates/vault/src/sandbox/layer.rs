//! Changes that are only imagined: a layer over the vault that a preview writes to.
//!
//! Later steps of a plan see what earlier ones would have written, and the disk is never touched. The layer
//! knows what would have each name it was told about; everything else is what is on disk, at the path that a
//! move of it or of a folder above it would have taken it from. A step that could not be made on disk cannot
//! be made here either. Absent on purpose: links that would lead elsewhere once their folder is moved; they
//! lead where they lead now.

mod folder;
mod steps;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};

pub(super) use folder::{Base, Entry, Folder};

use self::folder::Reached;
use super::change::Witness;
use super::fault;
use super::folder::{self as disk, Kind};
use super::locate::child;
use super::relocate::{TRASH, in_trash};
use super::survey::{Seen, Survey};
use super::vault::Vault;

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

fn parsed(path: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse(path).map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

pub(super) fn taken(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` already exists"))
        .detail("existing", path.as_str())
        .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\"")
}
