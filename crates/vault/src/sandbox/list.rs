//! Listing: one page of a folder or of everything below it.
//!
//! The walk gives the names in order; only the entries of the page are asked for their size and time, by
//! several threads when there are many.

use std::ops::ControlFlow;
use std::sync::Arc;

use envelope::{EntryKind, Failure, Fault, VaultPath};

use super::change::Witness;
use super::folder;
use super::in_order::in_order;
use super::shadow::Shadowed;
use super::tree::{Batch, Folder, Leaf, Walk, What, Wish};
use super::vault::Vault;

/// Entries that one thread takes at a time.
const BATCH: usize = 128;
/// A page ends before its entries take more than about this as text, whatever its limit: what is larger
/// than a result may be is of no use to anyone.
const PAGE_BYTES: usize = 12 << 20;
/// What an entry takes as text besides its path.
const ENTRY_BYTES: usize = 96;

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// `None` is the whole vault.
    pub folder: Option<VaultPath>,
    pub recursive: bool,
    /// Lower case, without the dot. When there are any, only files that end in one of them are listed.
    pub extensions: Vec<String>,
    pub start: ListStart,
    pub limit: usize,
}

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListStart {
    /// After so many entries, counted anew.
    Offset(u64),
    /// After this path, whether or not it is still there.
    After(VaultPath),
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

impl Vault {
    /// One page of what a folder holds. Hidden names and protected folders are left out.
    pub fn list(&self, query: &ListQuery, witness: &dyn Witness) -> Result<Listing, Fault> {
        let start = self.walked_folder(query.folder.as_ref())?;

        let (after, mut skip) = match &query.start {
            ListStart::Offset(offset) => (Vec::new(), *offset),
            ListStart::After(path) => (parts_below(path, start.path.as_ref())?, 0),
        };
        let wish = Wish { recursive: query.recursive, extensions: &query.extensions, only_files: false };
        let mut walk = Walk::begin(self, wish, start, after)?;
        let (mut room, mut bytes, mut more) = (query.limit, PAGE_BYTES, false);
        let mut entries = Vec::new();
        in_order(
            &|| witness.may_go_on(),
            |halt| loop {
                halt.may_go_on()?;
                let most = if skip > 0 { usize::try_from(skip).unwrap_or(BATCH) } else { room };
                if most == 0 || bytes == 0 {
                    more = walk.next(1)?.is_some();
                    return Ok(None);
                }
                let Some(batch) = walk.next(most.min(BATCH))? else {
                    return Ok(None);
                };
                if skip > 0 {
                    skip -= batch.leaves.len() as u64;
                    continue;
                }
                room -= batch.leaves.len();
                bytes = bytes.saturating_sub(text_size(&batch));
                return Ok(Some(batch));
            },
            || |batch, _| Ok(entries_of(batch)),
            |mut batch: Vec<Entry>| {
                entries.append(&mut batch);
                ControlFlow::Continue(())
            },
        )?;
        Ok(Listing { entries, more, unusable: walk.unusable })
    }

    /// Opens a folder, on disk or not, to be walked; `None` is the vault itself.
    pub(super) fn walked_folder(&self, path: Option<&VaultPath>) -> Result<Folder, Fault> {
        let shadowed = path.and_then(|path| self.shadowed(path).map(|shadowed| (path, shadowed)));
        let Some((path, shadowed)) = shadowed else {
            return self.open_folder(path).map(|open| Folder { dir: Some(open.dir), path: open.path });
        };
        let as_path = |dir| Folder { dir, path: Some(path.clone()) };
        match shadowed {
            Shadowed::Folder => Ok(as_path(None)),
            Shadowed::Moved(from) => self.open_folder(Some(&from)).map(|open| as_path(Some(open.dir))),
            Shadowed::Removed => Err(absent(path)),
            Shadowed::File(_) => {
                Err(Fault::new(Failure::PreconditionFailed, format!("`{path}` is a file, not a folder"))
                    .hint("name a folder"))
            }
        }
    }
}

pub(super) fn absent(path: &VaultPath) -> Fault {
    Fault::new(Failure::NotFound, format!("`{path}` does not exist"))
}

/// The parts of a path that come after those of the folder that is listed.
fn parts_below(path: &VaultPath, folder: Option<&VaultPath>) -> Result<Vec<String>, Fault> {
    let above = folder.map_or(0, |folder| folder.segments().count());
    let inside = folder.is_none_or(|folder| folder.segments().eq(path.segments().take(above)));
    if !inside || path.segments().count() == above {
        let folder = folder.map_or("the vault", VaultPath::as_str);
        return Err(Fault::new(
            Failure::InvalidArguments,
            format!("the listing cannot go on after `{path}`, which is not in `{folder}`"),
        )
        .hint("give the last path of the page before"));
    }
    Ok(path.segments().skip(above).map(str::to_owned).collect())
}

fn text_size(batch: &Batch) -> usize {
    let folder = batch.folder.path.as_ref().map_or(0, |path| path.as_str().len() + 1);
    batch.leaves.iter().map(|leaf| folder + leaf.name.len() + ENTRY_BYTES).sum()
}

fn entries_of(batch: Batch) -> Vec<Entry> {
    let Batch { folder, leaves } = batch;
    leaves.into_iter().filter_map(|leaf| entry(&folder, leaf)).collect()
}

fn entry(folder: &Arc<Folder>, leaf: Leaf) -> Option<Entry> {
    let path = folder.child(&leaf.name)?;
    let (kind, stat) = match leaf.what {
        What::Folder => (EntryKind::Folder, None),
        What::Link(kind, stat) => (kind, stat),
        What::Elsewhere(place) => (EntryKind::File, Some(place.stat)),
        What::File => {
            (EntryKind::File, folder.dir.as_ref().and_then(|dir| folder::stat(dir, &leaf.name).ok()))
        }
        What::Bytes(bytes) => {
            return Some(Entry {
                path,
                kind: EntryKind::File,
                size: Some(bytes.len() as u64),
                mtime_ms: None,
            });
        }
    };
    Some(Entry {
        path,
        kind,
        size: stat.as_ref().and_then(|stat| u64::try_from(stat.st_size).ok()),
        mtime_ms: stat.as_ref().map(folder::mtime_ms),
    })
}
