//! Walks the vault in an order that does not depend on the disk.
//!
//! Folders are read one at a time and sorted by name: paths are ordered by component, a folder before its
//! content. Each folder is opened by name from the handle of its parent and without following links. Memory and
//! open handles are bounded by the depth, not by the size of the vault. Links to entries of the vault are
//! returned but never entered, so the walk ends. Hidden names and protected folders are left out, as in
//! Obsidian.

use std::collections::HashSet;
use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{EntryKind, Fault, VaultPath};
use rustix::io::Errno;

use super::fault;
use super::folder::{self, NodeKind};
use super::locate::{FinalLink, LocatedEntry, Location, is_hidden};
use super::overlay::OverlayEntry;
use super::vault::Vault;
use crate::platform::FileStat;

/// Entries that a walk returns.
pub(super) struct WalkFilter<'a> {
    pub(super) recursive: bool,
    /// Lower case, without the dot. If not empty, only files with one of these extensions are returned.
    pub(super) extensions: &'a [String],
    /// Only files with their own content: no folders, no links.
    pub(super) only_files: bool,
    /// Also files whose path is too long for a [`VaultPath`]. They can be read and nothing else.
    pub(super) unspellable: bool,
}

/// A folder on the way.
pub(super) struct WalkFolder {
    /// `None` if it is not on disk.
    pub(super) dir: Option<Arc<Dir>>,
    /// `None` is the vault itself.
    pub(super) path: Option<VaultPath>,
    /// The path of a folder that is not a [`VaultPath`]; `path` is `None` then.
    pub(super) unspellable: Option<String>,
}

impl WalkFolder {
    pub(super) fn new(dir: Option<Arc<Dir>>, path: Option<VaultPath>) -> WalkFolder {
        WalkFolder { dir, path, unspellable: None }
    }

    /// Returns the path of a name as it is on disk, for messages and results.
    pub(super) fn shown_child(&self, name: &str) -> String {
        match (&self.unspellable, &self.path) {
            (Some(folder), _) => format!("{folder}/{name}"),
            (None, Some(folder)) => format!("{folder}/{name}"),
            (None, None) => name.to_owned(),
        }
    }

    /// Returns the path of a name that the walk has returned; `None` if it is not a [`VaultPath`].
    pub(super) fn child(&self, name: &str) -> Option<VaultPath> {
        if self.unspellable.is_some() {
            return None;
        }
        self.path
            .as_ref()
            .map_or_else(|| VaultPath::parse_escaped(name), |folder| folder.join_escaped(name))
            .ok()
    }
}

/// One entry.
pub(super) struct WalkEntry {
    pub(super) name: String,
    pub(super) kind: WalkEntryKind,
}

pub(super) enum WalkEntryKind {
    /// On disk, in the folder of the batch and with this name.
    File,
    Folder,
    /// Kind of the link's target, and its metadata if it is a file.
    Link(EntryKind, Option<FileStat>),
    /// In memory only.
    Bytes(Arc<[u8]>),
    /// On disk at another path.
    Elsewhere(LocatedEntry),
}

/// Entries of one folder, so that many batches need few open handles.
pub(super) struct WalkBatch {
    pub(super) folder: Arc<WalkFolder>,
    pub(super) entries: Vec<WalkEntry>,
}

pub(super) struct TreeWalker<'a> {
    vault: &'a Vault,
    filter: WalkFilter<'a>,
    frames: Vec<WalkFrame>,
    /// Names that were skipped because their paths are too long for a tool.
    pub(super) unusable: u64,
    /// Folders that exist and could not be opened, in order, each with a `/` at its end. Their content was not
    /// returned.
    pub(super) not_looked_into: Vec<String>,
    /// Files and folders (with a `/` at the end) that were not returned, because their path is not a [`VaultPath`].
    pub(super) unspellable: Vec<String>,
}

/// A folder that is being walked.
struct WalkFrame {
    folder: Arc<WalkFolder>,
    /// Sorted backwards: the next one is the last.
    names: Vec<FrameName>,
    /// Components, below this folder, of the path after which the walk starts.
    after: Vec<String>,
}

struct FrameName {
    name: String,
    source: NameSource,
}

enum NameSource {
    /// `None` if the file system does not report the kind.
    Disk(Option<NodeKind>),
    Overlay(OverlayEntry),
}

impl<'a> TreeWalker<'a> {
    /// Starts a walk through `start` that returns the entries after the path with the components `after`.
    pub(super) fn begin(
        vault: &'a Vault,
        filter: WalkFilter<'a>,
        start: WalkFolder,
        after: Vec<String>,
    ) -> Result<TreeWalker<'a>, Fault> {
        let mut walk = TreeWalker {
            vault,
            filter,
            frames: Vec::new(),
            unusable: 0,
            not_looked_into: Vec::new(),
            unspellable: Vec::new(),
        };
        walk.enter(start, after)?;
        Ok(walk)
    }

    /// Returns the next entries in order, at most `most` and all in one folder; `None` at the end.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<WalkBatch>, Fault> {
        let mut entries = Vec::new();
        while let Some(frame) = self.frames.last_mut() {
            let Some(name) = frame.names.pop() else {
                let folder = frame.folder.clone();
                self.frames.pop();
                if entries.is_empty() {
                    continue;
                }
                return Ok(Some(WalkBatch { folder, entries }));
            };
            let folder = frame.folder.clone();
            // The walk starts after this entry, but perhaps before its content.
            let passed = (frame.after.first() == Some(&name.name))
                .then(|| std::mem::take(&mut frame.after).split_off(1));
            let (item, below) = self.visit(&folder, name);
            if passed.is_none() {
                entries.extend(item);
            }
            let entered = below.is_some();
            if let Some(below) = below {
                self.enter(below, passed.unwrap_or_default())?;
            }
            if entries.len() >= most || (entered && !entries.is_empty()) {
                return Ok(Some(WalkBatch { folder, entries }));
            }
        }
        Ok(None)
    }

    fn enter(&mut self, folder: WalkFolder, after: Vec<String>) -> Result<(), Fault> {
        let mut names = self.names_on_disk(&folder)?;
        // The overlay has paths only.
        let overlaid = match folder.unspellable {
            None => self.vault.files.overlay_entries_in(folder.path.as_ref()),
            Some(_) => Vec::new(),
        };
        if !overlaid.is_empty() {
            let listed: HashSet<&str> = overlaid.iter().map(|(name, _)| name.as_str()).collect();
            names.retain(|name| !listed.contains(name.name.as_str()));
            names.extend(
                overlaid
                    .into_iter()
                    .map(|(name, kind)| FrameName { name, source: NameSource::Overlay(kind) }),
            );
        }
        names.retain(|name| !is_hidden(&name.name) && after.first().is_none_or(|after| name.name >= *after));
        names.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        self.frames.push(WalkFrame { folder: Arc::new(folder), names, after });
        Ok(())
    }

    fn names_on_disk(&mut self, folder: &WalkFolder) -> Result<Vec<FrameName>, Fault> {
        let Some(dir) = &folder.dir else {
            return Ok(Vec::new());
        };
        let path = folder.path.as_ref().map_or("the vault", VaultPath::as_str);
        let shown = folder.unspellable.as_deref().unwrap_or(path);
        let names = folder::list_names(dir).map_err(|error| fault::from_errno("list", shown, error))?;
        self.unusable += names.too_long.len() as u64;
        for name in &names.too_long {
            if !is_hidden(name)
                && (self.filter.extensions.is_empty() || has_extension(name, self.filter.extensions))
            {
                self.unspellable.push(folder.shown_child(name));
            }
        }
        let named = names.named.into_iter();
        Ok(named.map(|named| FrameName { name: named.name, source: NameSource::Disk(named.kind) }).collect())
    }

    /// Returns the entry for a name, and the folder to enter if it is one.
    fn visit(&mut self, folder: &WalkFolder, name: FrameName) -> (Option<WalkEntry>, Option<WalkFolder>) {
        let FrameName { name, source } = name;
        let is_protected = VaultPath::is_protected_name(&name);
        if !is_path_component(folder, &name) {
            self.unusable += 1;
            return match source {
                NameSource::Disk(listed) if !is_protected => self.visit_unspellable(folder, name, listed),
                NameSource::Disk(_) | NameSource::Overlay(_) => (None, None),
            };
        }
        if is_protected {
            return (None, None);
        }
        match source {
            NameSource::Overlay(OverlayEntry::File(bytes)) => {
                (self.matching_entry(name, WalkEntryKind::Bytes(bytes)), None)
            }
            NameSource::Overlay(OverlayEntry::Folder) => self.folder(folder, name, None),
            NameSource::Overlay(OverlayEntry::Moved(from)) => self.moved(folder, name, &from),
            NameSource::Overlay(OverlayEntry::Removed) => (None, None),
            NameSource::Disk(listed) => self.visit_disk(folder, name, listed),
        }
    }

    fn visit_disk(
        &mut self,
        folder: &WalkFolder,
        name: String,
        listed: Option<NodeKind>,
    ) -> (Option<WalkEntry>, Option<WalkFolder>) {
        let Some(dir) = &folder.dir else {
            return (None, None);
        };
        let looked = || folder::stat(dir, &name).ok().map(|stat| folder::kind(&stat));
        match listed.or_else(looked).unwrap_or(NodeKind::Other) {
            NodeKind::File => (self.matching_entry(name, WalkEntryKind::File), None),
            NodeKind::Folder if self.filter.recursive => match folder::open_folder(dir, &name) {
                Ok(below) => self.folder(folder, name, Some(Arc::new(below))),
                Err(error) => self.unopened(folder, name, error),
            },
            NodeKind::Folder => (self.matching_entry(name, WalkEntryKind::Folder), None),
            NodeKind::Link if !self.filter.only_files => (self.link(folder, name), None),
            NodeKind::Link | NodeKind::Other => (None, None),
        }
    }

    fn folder(
        &self,
        parent: &WalkFolder,
        name: String,
        dir: Option<Arc<Dir>>,
    ) -> (Option<WalkEntry>, Option<WalkFolder>) {
        let path = parent.child(&name).filter(|_| self.filter.recursive);
        (self.matching_entry(name, WalkEntryKind::Folder), path.map(|path| WalkFolder::new(dir, Some(path))))
    }

    /// Returns a file or a folder whose path is not a [`VaultPath`], if the filter includes those, and else lists its
    /// name.
    fn visit_unspellable(
        &mut self,
        folder: &WalkFolder,
        name: String,
        listed: Option<NodeKind>,
    ) -> (Option<WalkEntry>, Option<WalkFolder>) {
        let Some(dir) = &folder.dir else { return (None, None) };
        let looked = || folder::stat(dir, &name).ok().map(|stat| folder::kind(&stat));
        let shown = folder.shown_child(&name);
        match listed.or_else(looked).unwrap_or(NodeKind::Other) {
            NodeKind::File => match self.matching_entry(name, WalkEntryKind::File) {
                entry if self.filter.unspellable => return (entry, None),
                Some(_) => self.unspellable.push(shown),
                None => {}
            },
            NodeKind::Folder if self.filter.recursive && self.filter.unspellable => {
                match folder::open_folder(dir, &name) {
                    Ok(below) => {
                        let mut below = WalkFolder::new(Some(Arc::new(below)), None);
                        below.unspellable = Some(shown);
                        return (None, Some(below));
                    }
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    Err(_) => self.not_looked_into.push(format!("{shown}/")),
                }
            }
            NodeKind::Folder => self.unspellable.push(format!("{shown}/")),
            NodeKind::Link | NodeKind::Other => {}
        }
        (None, None)
    }

    /// Returns a folder that is not entered. Unless it was removed or replaced by a link since the read of its
    /// parent, it is reported.
    fn unopened(
        &mut self,
        parent: &WalkFolder,
        name: String,
        error: Errno,
    ) -> (Option<WalkEntry>, Option<WalkFolder>) {
        if !matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            self.not_looked_into.extend(parent.child(&name).map(|path| format!("{path}/")));
        }
        (self.matching_entry(name, WalkEntryKind::Folder), None)
    }

    fn moved(
        &mut self,
        folder: &WalkFolder,
        name: String,
        from: &VaultPath,
    ) -> (Option<WalkEntry>, Option<WalkFolder>) {
        let Ok(Location::Found(located)) = self.vault.locate(from, FinalLink::Follow) else {
            return (None, None);
        };
        match located.kind() {
            NodeKind::File => (self.matching_entry(name, WalkEntryKind::Elsewhere(located)), None),
            NodeKind::Folder => match folder::open_folder(&located.dir, &located.name) {
                Ok(dir) => self.folder(folder, name, Some(Arc::new(dir))),
                Err(error) => self.unopened(folder, name, error),
            },
            NodeKind::Link | NodeKind::Other => (None, None),
        }
    }

    fn link(&self, folder: &WalkFolder, name: String) -> Option<WalkEntry> {
        let Ok(Location::Found(located)) = self.vault.locate(&folder.child(&name)?, FinalLink::Follow) else {
            return None;
        };
        match located.kind() {
            NodeKind::Folder => self.matching_entry(name, WalkEntryKind::Link(EntryKind::Folder, None)),
            NodeKind::File => {
                self.matching_entry(name, WalkEntryKind::Link(EntryKind::File, Some(located.stat)))
            }
            NodeKind::Link | NodeKind::Other => None,
        }
    }

    /// Returns the entry if the filter matches.
    fn matching_entry(&self, name: String, kind: WalkEntryKind) -> Option<WalkEntry> {
        let is_file = match kind {
            WalkEntryKind::File
            | WalkEntryKind::Bytes(_)
            | WalkEntryKind::Elsewhere(_)
            | WalkEntryKind::Link(EntryKind::File, _) => true,
            WalkEntryKind::Folder | WalkEntryKind::Link(EntryKind::Folder, _) => false,
        };
        let all = self.filter.extensions.is_empty();
        let wanted = if is_file {
            all || has_extension(&name, self.filter.extensions)
        } else {
            all && !self.filter.only_files
        };
        wanted.then_some(WalkEntry { name, kind })
    }
}

/// Returns true if the path of a name is short enough for an argument. The name itself has been checked when the folder
/// was read.
fn is_path_component(folder: &WalkFolder, name: &str) -> bool {
    let above = folder.path.as_ref().map_or(0, |path| path.as_str().len() + 1);
    folder.unspellable.is_none() && above + name.len() <= VaultPath::MAX_BYTES
}

/// Returns true if a file name has one of these extensions, given in lower case without the dot.
pub(super) fn has_extension(name: &str, extensions: &[String]) -> bool {
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
    use super::has_extension;

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
            assert_eq!(has_extension(name, &extensions), wanted, "{name}");
        }
    }
}
