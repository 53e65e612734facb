//! A folder as it would be: the names in it that are not as on disk, and where all the others are.
//!
//! Folders hold folders, so that to move one is to move everything that was imagined in it. A name is looked
//! up as it is spelled; its twins are found by the form in which names are compared.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use envelope::{Fault, FileState, VaultPath};

use super::super::fault;

/// Where the names of a folder are that nobody has said anything about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Base {
    /// The folder is only imagined: it has no others.
    Nothing,
    /// In the vault itself.
    Vault,
    /// In this folder on disk, wherever the folder would be.
    At(VaultPath),
}

impl Base {
    /// Where a name is on disk if nobody has said anything about it.
    pub(in super::super) fn slot(&self, name: &str) -> Option<VaultPath> {
        match self {
            Base::Nothing => None,
            Base::Vault => VaultPath::parse(name).ok(),
            Base::At(folder) => folder.join(name).ok(),
        }
    }
}

/// What would have a name.
#[derive(Debug)]
pub(in super::super) enum Entry {
    /// Nothing. A folder that was emptied and removed is kept, in case it is made again.
    Gone {
        emptied: Option<Box<Folder>>,
    },
    /// A file with new or changed content.
    File(File),
    /// The file that is on disk at another path.
    Moved(VaultPath),
    Folder(Folder),
}

#[derive(Debug, Clone)]
pub(in super::super) struct File {
    pub(in super::super) bytes: Arc<[u8]>,
    pub(in super::super) state: FileState,
    /// Where the file is on disk, if it is.
    pub(in super::super) origin: Option<VaultPath>,
}

/// A name, in the order of the form in which names are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    folded: String,
    spelled: String,
}

impl Name {
    fn of(name: &str) -> Name {
        Name { folded: VaultPath::fold_name(name), spelled: name.to_owned() }
    }
}

#[derive(Debug)]
pub(in super::super) struct Folder {
    pub(in super::super) base: Base,
    names: BTreeMap<Name, Entry>,
    /// The names on disk by their folded form, once somebody had to know. A preview is one moment.
    on_disk: Option<HashMap<String, Vec<String>>>,
}

/// What a path leads to.
pub(super) enum Reached<'a> {
    Folder(&'a Folder),
    File(&'a File),
    /// Nobody has said anything about the last names of the path: as on disk, there.
    Disk {
        at: VaultPath,
        /// The deepest folder on the way that somebody has said something about, and how many names of the
        /// path lead to it.
        under: &'a Folder,
        depth: usize,
    },
    /// Nothing: this many names of the path are missing.
    Nowhere {
        missing: usize,
    },
}

impl Folder {
    pub(in super::super) fn new(base: Base) -> Folder {
        Folder { base, names: BTreeMap::new(), on_disk: None }
    }

    pub(in super::super) fn get(&self, name: &str) -> Option<&Entry> {
        self.names.get(&Name::of(name))
    }

    /// Every name that somebody has said something about.
    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.names.iter().map(|(name, entry)| (name.spelled.as_str(), entry))
    }

    /// Follows a path down from here; `None` is this folder.
    pub(super) fn reach(&self, path: Option<&VaultPath>) -> Result<Reached<'_>, Fault> {
        let Some(path) = path else { return Ok(Reached::Folder(self)) };
        let count = path.segments().count();
        let mut folder = self;
        for (depth, name) in path.segments().enumerate() {
            let left = count - depth - 1;
            match folder.get(name) {
                Some(Entry::Folder(below)) => folder = below,
                Some(Entry::Gone { .. }) => return Ok(Reached::Nowhere { missing: left + 1 }),
                Some(Entry::File(_) | Entry::Moved(_)) if left > 0 => {
                    return Err(fault::below_a_file(&upper(path, depth + 1)));
                }
                Some(Entry::File(file)) => return Ok(Reached::File(file)),
                Some(Entry::Moved(at)) => {
                    return Ok(Reached::Disk { at: at.clone(), under: folder, depth });
                }
                None => {
                    let mut rest = path.segments().skip(depth);
                    let first = rest.next().and_then(|name| folder.base.slot(name));
                    let at = rest.try_fold(first, |at, name| at.map(|at| at.join(name).ok()));
                    return Ok(match at.flatten() {
                        Some(at) => Reached::Disk { at, under: folder, depth },
                        None => Reached::Nowhere { missing: left + 1 },
                    });
                }
            }
        }
        Ok(Reached::Folder(folder))
    }

    /// The folder at a path that is known to be one, with everything on the way entered.
    pub(super) fn enter(&mut self, path: Option<&VaultPath>) -> Option<&mut Folder> {
        let Some(path) = path else { return Some(self) };
        let mut folder = self;
        for name in path.segments() {
            let base = folder.base.slot(name).map_or(Base::Nothing, Base::At);
            let entry =
                folder.names.entry(Name::of(name)).or_insert_with(|| Entry::Folder(Folder::new(base)));
            folder = match entry {
                Entry::Folder(below) => below,
                Entry::Gone { .. } | Entry::File(_) | Entry::Moved(_) => return None,
            };
        }
        Some(folder)
    }

    /// Says what has a name. A file that is back where it is on disk needs no word.
    pub(super) fn put(&mut self, name: &str, entry: Entry) {
        let key = Name::of(name);
        match &entry {
            Entry::Moved(at) if self.base.slot(name).as_ref() == Some(at) => self.names.remove(&key),
            Entry::Gone { .. } | Entry::File(_) | Entry::Moved(_) | Entry::Folder(_) => {
                self.names.insert(key, entry)
            }
        };
    }

    /// Makes a folder: the one that was removed before, if there was one, since that is empty too.
    pub(super) fn make(&mut self, name: &str) {
        let folder = match self.names.remove(&Name::of(name)) {
            Some(Entry::Gone { emptied: Some(folder) }) => *folder,
            Some(Entry::Gone { emptied: None } | Entry::File(_) | Entry::Moved(_) | Entry::Folder(_))
            | None => Folder::new(Base::Nothing),
        };
        self.put(name, Entry::Folder(folder));
    }

    /// Takes away what somebody has said about a name; nothing has it from now on.
    pub(super) fn take(&mut self, name: &str) -> Option<Entry> {
        let gone = Entry::Gone { emptied: None };
        match self.base {
            Base::Nothing => self.names.remove(&Name::of(name)),
            Base::Vault | Base::At(_) => self.names.insert(Name::of(name), gone),
        }
    }

    /// What is there under this name or a twin of it; `names_on_disk` is asked once.
    pub(super) fn twin(
        &mut self,
        name: &str,
        names_on_disk: impl FnOnce() -> Result<Vec<String>, Fault>,
    ) -> Result<Option<String>, Fault> {
        let wanted = Name { folded: VaultPath::fold_name(name), spelled: String::new() };
        let said = self.names.range(wanted.clone()..).take_while(|(key, _)| key.folded == wanted.folded);
        for (key, entry) in said {
            match entry {
                Entry::Gone { .. } => {}
                Entry::File(_) | Entry::Moved(_) | Entry::Folder(_) => return Ok(Some(key.spelled.clone())),
            }
        }
        if self.base == Base::Nothing {
            return Ok(None);
        }
        if self.on_disk.is_none() {
            let mut by_fold: HashMap<String, Vec<String>> = HashMap::new();
            for name in names_on_disk()? {
                by_fold.entry(VaultPath::fold_name(&name)).or_default().push(name);
            }
            self.on_disk = Some(by_fold);
        }
        let unsaid = |name: &&String| self.get(name).is_none();
        let on_disk = self.on_disk.as_ref().and_then(|names| names.get(&wanted.folded));
        Ok(on_disk.into_iter().flatten().find(unsaid).cloned())
    }
}

/// The first names of a path.
fn upper(path: &VaultPath, count: usize) -> String {
    path.segments().take(count).collect::<Vec<_>>().join("/")
}
