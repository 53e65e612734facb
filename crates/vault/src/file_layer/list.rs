//! Lists one page of a folder, or of everything below it.
//!
//! The walk returns the names in order. Size and time are read for the entries of the page only, by several
//! threads if there are many.

use std::ops::ControlFlow;
use std::sync::Arc;

use envelope::{EntryKind, Failure, Fault, VaultPath};

use super::folder;
use super::io_context::IoContext;
use super::ordered_executor::execute_in_order;
use super::overlay::OverlayEntry;
use super::tree_walk::{TreeWalker, WalkBatch, WalkEntry, WalkEntryKind, WalkFilter, WalkFolder};
use super::vault::Vault;
use crate::platform::FileStat;

/// Entries per unit of work.
const BATCH: usize = 128;
/// Approximate limit for the text of a page, whatever its limit of entries: a larger result could not be used.
const PAGE_BYTES: usize = 12 << 20;
/// Approximate size of an entry as text without its path.
const ENTRY_BYTES: usize = 96;

/// Query of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingQuery {
    /// `None` is the whole vault.
    pub folder: Option<VaultPath>,
    pub recursive: bool,
    /// Lower case, without the dot. If not empty, only files with one of these extensions are listed.
    pub extensions: Vec<String>,
    pub start: ListStart,
    pub limit: usize,
}

/// Start of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListStart {
    /// After this many entries, counted from the beginning.
    Offset(u64),
    /// After this path, whether or not it still exists.
    After(VaultPath),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderListing {
    pub entries: Vec<ListEntry>,
    /// There are entries after the last one.
    pub more: bool,
    /// Names that were skipped because their paths are too long for a tool.
    pub unusable: u64,
    /// These names, as far as they match the query; folders end in `/`.
    pub unusable_names: Vec<String>,
    /// Folders of a recursive listing that could not be opened, in order. Each ends in `/`.
    pub not_looked_into: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    pub path: VaultPath,
    pub kind: EntryKind,
    /// Of a file.
    pub size: Option<u64>,
    /// Of a file.
    pub mtime_ms: Option<i64>,
}

impl Vault {
    /// Returns one page of a folder. Hidden names and protected folders are left out.
    pub fn list(&self, query: &ListingQuery, io: &dyn IoContext) -> Result<FolderListing, Fault> {
        let start = self.walked_folder(query.folder.as_ref())?;

        let (after, mut skip) = match &query.start {
            ListStart::Offset(offset) => (Vec::new(), *offset),
            ListStart::After(path) => (parts_below(path, start.path.as_ref())?, 0),
        };
        let filter = WalkFilter {
            recursive: query.recursive,
            extensions: &query.extensions,
            only_files: false,
            unspellable: false,
        };
        let mut walk = TreeWalker::begin(self, filter, start, after)?;
        let (mut room, mut bytes, mut more) = (query.limit, PAGE_BYTES, false);
        let mut entries = Vec::new();
        execute_in_order(
            &|| io.check_cancelled(),
            |stop| loop {
                stop.check()?;
                let most = if skip > 0 { usize::try_from(skip).unwrap_or(BATCH) } else { room };
                if most == 0 || bytes == 0 {
                    more = walk.next(1)?.is_some();
                    return Ok(None);
                }
                let Some(batch) = walk.next(most.min(BATCH))? else {
                    return Ok(None);
                };
                if skip > 0 {
                    skip -= batch.entries.len() as u64;
                    continue;
                }
                room -= batch.entries.len();
                bytes = bytes.saturating_sub(text_size(&batch));
                return Ok(Some(batch));
            },
            || |batch, _| Ok(entries_of(batch)),
            |mut batch: Vec<ListEntry>| {
                entries.append(&mut batch);
                ControlFlow::Continue(())
            },
        )?;
        let TreeWalker { unusable, not_looked_into, unspellable: unusable_names, .. } = walk;
        Ok(FolderListing { entries, more, unusable, unusable_names, not_looked_into })
    }

    /// Opens a folder, on disk or in the overlay, for a walk. `None` is the vault itself.
    pub(super) fn walked_folder(&self, path: Option<&VaultPath>) -> Result<WalkFolder, Fault> {
        let overlaid = path.and_then(|path| self.files.overlay_entry(path).map(|overlaid| (path, overlaid)));
        let Some((path, overlaid)) = overlaid else {
            return self.open_folder(path).map(|open| WalkFolder::new(Some(open.dir), open.path));
        };
        let as_path = |dir| WalkFolder::new(dir, Some(path.clone()));
        match overlaid {
            OverlayEntry::Folder => Ok(as_path(None)),
            OverlayEntry::Moved(from) => self.open_folder(Some(&from)).map(|open| as_path(Some(open.dir))),
            OverlayEntry::Removed => Err(absent(path)),
            OverlayEntry::File(_) => {
                Err(Fault::new(Failure::PreconditionFailed, format!("`{path}` is a file, not a folder"))
                    .hint("name a folder"))
            }
        }
    }
}

pub(super) fn absent(path: &VaultPath) -> Fault {
    Fault::new(Failure::NotFound, format!("`{path}` does not exist"))
}

/// Returns the components of a path below the listed folder.
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

fn text_size(batch: &WalkBatch) -> usize {
    let folder = batch.folder.path.as_ref().map_or(0, |path| path.as_str().len() + 1);
    batch.entries.iter().map(|item| folder + item.name.len() + ENTRY_BYTES).sum()
}

fn entries_of(batch: WalkBatch) -> Vec<ListEntry> {
    let WalkBatch { folder, entries } = batch;
    entries.into_iter().filter_map(|item| entry(&folder, item)).collect()
}

fn entry(folder: &Arc<WalkFolder>, item: WalkEntry) -> Option<ListEntry> {
    let path = folder.child(&item.name)?;
    let (kind, stat) = match item.kind {
        WalkEntryKind::Folder => (EntryKind::Folder, None),
        WalkEntryKind::Link(kind, stat) => (kind, stat),
        WalkEntryKind::Elsewhere(located) => (EntryKind::File, Some(located.stat)),
        WalkEntryKind::File => {
            (EntryKind::File, folder.dir.as_ref().and_then(|dir| folder::stat(dir, &item.name).ok()))
        }
        WalkEntryKind::Bytes(bytes) => {
            return Some(ListEntry {
                path,
                kind: EntryKind::File,
                size: Some(bytes.len() as u64),
                mtime_ms: None,
            });
        }
    };
    Some(ListEntry {
        path,
        kind,
        size: stat.as_ref().map(|stat| stat.size),
        mtime_ms: stat.as_ref().map(FileStat::mtime_ms),
    })
}
