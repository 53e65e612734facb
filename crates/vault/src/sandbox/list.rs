//! Listing: one folder or everything below it, in an order that does not depend on the disk.
//!
//! Folders are read one at a time and sorted by name, so the order is that of the paths compared part by
//! part, and memory is bounded by the folders on the way down plus one page, not by the vault. Only the
//! entries of the page are asked for their size and time. Links are shown when they lead to something in
//! the vault, and never entered: that is what makes the walk end.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{EntryKind, Fault, VaultPath};
use rustix::fs::Stat;

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind, Named};
use super::locate::{Found, LastLink, child, is_hidden};
use super::vault::Vault;

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// `None` is the whole vault.
    pub folder: Option<VaultPath>,
    pub recursive: bool,
    /// Lower case, without the dot. When there are any, only files that end in one of them are listed.
    pub extensions: Vec<String>,
    pub offset: u64,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// There are entries after the last one.
    pub more: bool,
    /// Names passed on the way that no tool can use, because another system could not store them.
    pub unusable: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: VaultPath,
    pub kind: EntryKind,
    /// Of a file.
    pub size: Option<u64>,
    /// Of a file.
    pub mtime_ms: Option<i64>,
}

/// A folder that is being listed.
struct Frame {
    dir: Arc<Dir>,
    path: Option<VaultPath>,
    /// Sorted backwards: the next one is the last.
    names: Vec<Named>,
}

struct Lister<'a> {
    vault: &'a Vault,
    query: &'a ListQuery,
    listing: Listing,
    /// Matching entries seen so far.
    seen: u64,
}

impl Vault {
    /// One page of what a folder holds. Hidden names and protected folders are left out.
    pub fn list(&self, query: &ListQuery, witness: &dyn Witness) -> Result<Listing, Fault> {
        let listing = Listing { entries: Vec::new(), more: false, unusable: 0 };
        let mut lister = Lister { vault: self, query, listing, seen: 0 };
        let start = self.open_folder(query.folder.as_ref())?;
        let mut frames = vec![lister.read(start.dir, start.path)?];
        while let Some(frame) = frames.last_mut() {
            let Some(named) = frame.names.pop() else {
                frames.pop();
                continue;
            };
            let below = lister.visit(frame, &named)?;
            if lister.listing.more {
                break;
            }
            if let Some((dir, path)) = below {
                witness.may_go_on()?;
                frames.push(lister.read(dir, Some(path))?);
            }
        }
        Ok(lister.listing)
    }
}

impl Lister<'_> {
    fn read(&mut self, dir: Arc<Dir>, path: Option<VaultPath>) -> Result<Frame, Fault> {
        let shown = path.as_ref().map_or("the vault", VaultPath::as_str);
        let names = folder::names(&dir).map_err(|error| fault::from_errno("list", shown, error))?;
        self.listing.unusable += names.unreadable;
        let mut names = names.named;
        names.retain(|named| !is_hidden(&named.name));
        names.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        Ok(Frame { dir, path, names })
    }

    /// Lists one name; gives the folder to go on with, if it is one.
    fn visit(&mut self, frame: &Frame, named: &Named) -> Result<Option<(Arc<Dir>, VaultPath)>, Fault> {
        let Ok(path) = VaultPath::parse(&child(frame.path.as_ref(), &named.name)) else {
            self.listing.unusable += 1;
            return Ok(None);
        };
        if path.protected_by().is_some() {
            return Ok(None);
        }
        let looked = || folder::stat(&frame.dir, &named.name).ok().map(|stat| folder::kind(&stat));
        match named.kind.or_else(looked).unwrap_or(Kind::Other) {
            Kind::Folder => {
                self.offer(&path, EntryKind::Folder, || None);
                if !self.query.recursive || self.listing.more {
                    return Ok(None);
                }
                // A folder that was taken away or swapped for a link since it was read is not entered.
                let dir = folder::open_folder(&frame.dir, &named.name).ok();
                Ok(dir.map(|dir| (Arc::new(dir), path)))
            }
            Kind::File => {
                self.offer(&path, EntryKind::File, || folder::stat(&frame.dir, &named.name).ok());
                Ok(None)
            }
            Kind::Link => {
                if let Ok(Found::Place(place)) = self.vault.locate(&path, LastLink::Follow) {
                    match place.kind() {
                        Kind::Folder => self.offer(&path, EntryKind::Folder, || None),
                        Kind::File => self.offer(&path, EntryKind::File, || Some(place.stat)),
                        Kind::Link | Kind::Other => {}
                    }
                }
                Ok(None)
            }
            Kind::Other => Ok(None),
        }
    }

    /// Takes an entry into the page if it matches and lies in it.
    fn offer(&mut self, path: &VaultPath, kind: EntryKind, stat: impl FnOnce() -> Option<Stat>) {
        if !self.wanted(path.name(), kind) {
            return;
        }
        self.seen += 1;
        if self.seen <= self.query.offset {
            return;
        }
        if self.listing.entries.len() >= self.query.limit {
            self.listing.more = true;
            return;
        }
        let stat = stat();
        self.listing.entries.push(Entry {
            path: path.clone(),
            kind,
            size: stat.as_ref().and_then(|stat| u64::try_from(stat.st_size).ok()),
            mtime_ms: stat.as_ref().map(folder::mtime_ms),
        });
    }

    fn wanted(&self, name: &str, kind: EntryKind) -> bool {
        if self.query.extensions.is_empty() {
            return true;
        }
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
        kind == EntryKind::File
            && extension.is_some_and(|extension| self.query.extensions.contains(&extension))
    }
}
