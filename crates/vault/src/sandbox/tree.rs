//! The walk down the vault: what is there, in an order that does not depend on the disk.
//!
//! Folders are read one at a time and sorted by name, so the order is that of the paths compared part by
//! part, a folder before what is in it. Each folder is opened by name from the handle of the one above and
//! without following links. Memory and open handles are bounded by the folders on the way down, not by the
//! vault. Links are shown when they lead to something in the vault, and never entered: that is what makes
//! the walk end. Hidden names and protected folders are left out, as Obsidian leaves them out.

use std::collections::HashSet;
use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{EntryKind, Fault, VaultPath};
use rustix::fs::Stat;

use super::fault;
use super::folder::{self, Kind};
use super::locate::{Found, LastLink, Place, is_hidden};
use super::shadow::Shadowed;
use super::vault::Vault;

/// What to show of what is there.
pub(super) struct Wish<'a> {
    pub(super) recursive: bool,
    /// Lower case, without the dot. When there are any, only files that end in one of them are shown.
    pub(super) extensions: &'a [String],
    /// Only files with content of their own: no folders, no links.
    pub(super) only_files: bool,
}

/// A folder on the way.
pub(super) struct Folder {
    /// `None` when the disk does not have it.
    pub(super) dir: Option<Arc<Dir>>,
    /// `None` is the vault itself.
    pub(super) path: Option<VaultPath>,
}

impl Folder {
    /// The path of a name that the walk has shown.
    pub(super) fn child(&self, name: &str) -> Option<VaultPath> {
        self.path.as_ref().map_or_else(|| VaultPath::parse(name), |folder| folder.join(name)).ok()
    }
}

/// One name that was found.
pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) what: What,
}

pub(super) enum What {
    /// On disk, in the folder of the batch and by this name.
    File,
    Folder,
    /// What the link leads to, and the state of that if it is a file.
    Link(EntryKind, Option<Stat>),
    /// Only in memory.
    Bytes(Arc<[u8]>),
    /// On disk, but in another place.
    Elsewhere(Place),
}

/// Some neighbours in one folder, so that many batches can be worked on with few open handles.
pub(super) struct Batch {
    pub(super) folder: Arc<Folder>,
    pub(super) leaves: Vec<Leaf>,
}

pub(super) struct Walk<'a> {
    vault: &'a Vault,
    wish: Wish<'a>,
    frames: Vec<Frame>,
    /// Names passed on the way that no tool can use, because another system could not store them.
    pub(super) unusable: u64,
}

/// A folder that is being walked.
struct Frame {
    folder: Arc<Folder>,
    /// Sorted backwards: the next one is the last.
    names: Vec<Name>,
    /// The parts, below this folder, of the path after which the walk begins.
    after: Vec<String>,
}

struct Name {
    name: String,
    source: Source,
}

enum Source {
    /// Some file systems do not say of what kind.
    Disk(Option<Kind>),
    Shadow(Shadowed),
}

impl<'a> Walk<'a> {
    /// A walk through `start` that shows what comes after the path with the parts `after` below it.
    pub(super) fn begin(
        vault: &'a Vault,
        wish: Wish<'a>,
        start: Folder,
        after: Vec<String>,
    ) -> Result<Walk<'a>, Fault> {
        let mut walk = Walk { vault, wish, frames: Vec::new(), unusable: 0 };
        walk.enter(start, after)?;
        Ok(walk)
    }

    /// The next names in order, at most `most` and all in one folder; `None` at the end.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Batch>, Fault> {
        let mut leaves = Vec::new();
        while let Some(frame) = self.frames.last_mut() {
            let Some(name) = frame.names.pop() else {
                let folder = frame.folder.clone();
                self.frames.pop();
                if leaves.is_empty() {
                    continue;
                }
                return Ok(Some(Batch { folder, leaves }));
            };
            let folder = frame.folder.clone();
            // The walk begins after this one, but perhaps before what is in it.
            let passed = (frame.after.first() == Some(&name.name))
                .then(|| std::mem::take(&mut frame.after).split_off(1));
            let (leaf, below) = self.visit(&folder, name);
            if passed.is_none() {
                leaves.extend(leaf);
            }
            let entered = below.is_some();
            if let Some(below) = below {
                self.enter(below, passed.unwrap_or_default())?;
            }
            if leaves.len() >= most || (entered && !leaves.is_empty()) {
                return Ok(Some(Batch { folder, leaves }));
            }
        }
        Ok(None)
    }

    fn enter(&mut self, folder: Folder, after: Vec<String>) -> Result<(), Fault> {
        let mut names = self.names_on_disk(&folder)?;
        let shadowed = self.vault.shadowed_in(folder.path.as_ref());
        if !shadowed.is_empty() {
            let said: HashSet<&str> = shadowed.iter().map(|(name, _)| name.as_str()).collect();
            names.retain(|name| !said.contains(name.name.as_str()));
            names
                .extend(shadowed.into_iter().map(|(name, what)| Name { name, source: Source::Shadow(what) }));
        }
        names.retain(|name| !is_hidden(&name.name) && after.first().is_none_or(|after| name.name >= *after));
        names.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        self.frames.push(Frame { folder: Arc::new(folder), names, after });
        Ok(())
    }

    fn names_on_disk(&mut self, folder: &Folder) -> Result<Vec<Name>, Fault> {
        let Some(dir) = &folder.dir else {
            return Ok(Vec::new());
        };
        let shown = folder.path.as_ref().map_or("the vault", VaultPath::as_str);
        let names = folder::names(dir).map_err(|error| fault::from_errno("list", shown, error))?;
        self.unusable += names.unreadable;
        let named = names.named.into_iter();
        Ok(named.map(|named| Name { name: named.name, source: Source::Disk(named.kind) }).collect())
    }

    /// What one name shows, and the folder to go on with, if it is one.
    fn visit(&mut self, folder: &Folder, name: Name) -> (Option<Leaf>, Option<Folder>) {
        let Name { name, source } = name;
        if !fits(folder, &name) {
            self.unusable += 1;
            return (None, None);
        }
        if VaultPath::is_protected_name(&name) {
            return (None, None);
        }
        match source {
            Source::Shadow(Shadowed::File(bytes)) => (self.leaf(name, What::Bytes(bytes)), None),
            Source::Shadow(Shadowed::Folder) => self.folder(folder, name, None),
            Source::Shadow(Shadowed::Moved(from)) => self.moved(folder, name, &from),
            Source::Shadow(Shadowed::Removed) => (None, None),
            Source::Disk(said) => self.visit_disk(folder, name, said),
        }
    }

    fn visit_disk(
        &self,
        folder: &Folder,
        name: String,
        said: Option<Kind>,
    ) -> (Option<Leaf>, Option<Folder>) {
        let Some(dir) = &folder.dir else {
            return (None, None);
        };
        let looked = || folder::stat(dir, &name).ok().map(|stat| folder::kind(&stat));
        match said.or_else(looked).unwrap_or(Kind::Other) {
            Kind::File => (self.leaf(name, What::File), None),
            Kind::Folder if self.wish.recursive => {
                // A folder that was taken away or swapped for a link since it was read is not entered.
                let below = folder::open_folder(dir, &name).ok();
                match below {
                    Some(below) => self.folder(folder, name, Some(Arc::new(below))),
                    None => (self.leaf(name, What::Folder), None),
                }
            }
            Kind::Folder => (self.leaf(name, What::Folder), None),
            Kind::Link if !self.wish.only_files => (self.link(folder, name), None),
            Kind::Link | Kind::Other => (None, None),
        }
    }

    fn folder(&self, parent: &Folder, name: String, dir: Option<Arc<Dir>>) -> (Option<Leaf>, Option<Folder>) {
        let path = parent.child(&name).filter(|_| self.wish.recursive);
        (self.leaf(name, What::Folder), path.map(|path| Folder { dir, path: Some(path) }))
    }

    fn moved(&self, folder: &Folder, name: String, from: &VaultPath) -> (Option<Leaf>, Option<Folder>) {
        let Ok(Found::Place(place)) = self.vault.locate(from, LastLink::Follow) else {
            return (None, None);
        };
        match place.kind() {
            Kind::File => (self.leaf(name, What::Elsewhere(place)), None),
            Kind::Folder => match folder::open_folder(&place.dir, &place.name) {
                Ok(dir) => self.folder(folder, name, Some(Arc::new(dir))),
                Err(_) => (self.leaf(name, What::Folder), None),
            },
            Kind::Link | Kind::Other => (None, None),
        }
    }

    fn link(&self, folder: &Folder, name: String) -> Option<Leaf> {
        let Ok(Found::Place(place)) = self.vault.locate(&folder.child(&name)?, LastLink::Follow) else {
            return None;
        };
        match place.kind() {
            Kind::Folder => self.leaf(name, What::Link(EntryKind::Folder, None)),
            Kind::File => self.leaf(name, What::Link(EntryKind::File, Some(place.stat))),
            Kind::Link | Kind::Other => None,
        }
    }

    /// The name, if it is wanted.
    fn leaf(&self, name: String, what: What) -> Option<Leaf> {
        let is_file = match what {
            What::File | What::Bytes(_) | What::Elsewhere(_) | What::Link(EntryKind::File, _) => true,
            What::Folder | What::Link(EntryKind::Folder, _) => false,
        };
        let all = self.wish.extensions.is_empty();
        let wanted = if is_file {
            all || ends_in_one_of(&name, self.wish.extensions)
        } else {
            all && !self.wish.only_files
        };
        wanted.then_some(Leaf { name, what })
    }
}

/// Whether the name can be part of a path that a tool could be given.
fn fits(folder: &Folder, name: &str) -> bool {
    let above = folder.path.as_ref().map_or(0, |path| path.as_str().len() + 1);
    above + name.len() <= VaultPath::MAX_BYTES && VaultPath::is_name(name)
}

/// Whether a file name has one of these extensions, which are in lower case and without the dot.
pub(super) fn ends_in_one_of(name: &str, extensions: &[String]) -> bool {
    let Some((_, extension)) = name.rsplit_once('.') else {
        return false;
    };
    if extension.is_ascii() {
        return extensions.iter().any(|wanted| wanted.eq_ignore_ascii_case(extension));
    }
    extensions.contains(&extension.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::ends_in_one_of;

    #[test]
    fn case_does_not_matter_in_extensions_also_beyond_ascii() {
        let extensions = ["md".to_owned(), "é".to_owned()];
        for (name, wanted) in [
            ("a.md", true),
            ("a.MD", true),
            ("a.b.Md", true),
            ("a.É", true),
            ("md", false),
            ("a.mdx", false),
            ("a.", false),
            ("a.ẞ", false),
        ] {
            assert_eq!(ends_in_one_of(name, &extensions), wanted, "{name}");
        }
    }
}
