//! Scopes of a search: folders and single files, each once and in the order of their paths.

use std::sync::Arc;

use envelope::{Failure, Fault, VaultPath};

use super::super::folder::NodeKind;
use super::super::list::absent;
use super::super::locate::{FinalLink, Location};
use super::super::overlay::OverlayEntry;
use super::super::tree_walk::{
    TreeWalker, WalkBatch, WalkEntry, WalkEntryKind, WalkFilter, WalkFolder, has_extension,
};
use super::super::vault::Vault;
use super::SearchQuery;

/// One scope: a folder to walk, or one file.
pub(super) enum SearchScope<'a> {
    Folder(TreeWalker<'a>),
    File(Option<WalkBatch>),
}

impl SearchScope<'_> {
    /// Returns the next files in order, at most `most`; `None` at the end.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<WalkBatch>, Fault> {
        match self {
            SearchScope::Folder(walk) => walk.next(most),
            SearchScope::File(batch) => Ok(batch.take()),
        }
    }

    /// Returns the folders that could not be opened so far, and the names that are too long for a path; a file has
    /// none.
    pub(super) fn not_looked_into(&mut self) -> Vec<String> {
        match self {
            SearchScope::Folder(walk) => {
                let mut missed = std::mem::take(&mut walk.not_looked_into);
                missed.append(&mut walk.unspellable);
                missed
            }
            SearchScope::File(_) => Vec::new(),
        }
    }
}

impl Vault {
    /// Returns the scopes in order, none inside another.
    pub(super) fn scopes<'a>(&'a self, query: &'a SearchQuery) -> Result<Vec<SearchScope<'a>>, Fault> {
        let filter = || WalkFilter {
            recursive: true,
            extensions: &query.extensions,
            only_files: true,
            unspellable: true,
        };
        let begin = |folder| TreeWalker::begin(self, filter(), folder, Vec::new()).map(SearchScope::Folder);
        if query.scopes.is_empty() || query.scopes.contains(&None) {
            return Ok(vec![begin(self.walked_folder(None)?)?]);
        }
        let mut places = Vec::new();
        for path in query.scopes.iter().flatten() {
            places.push(self.scope_place(path)?);
        }
        places.sort_by(|(a, _), (b, _)| a.segments().cmp(b.segments()));
        let mut scopes = Vec::new();
        let mut last: Option<VaultPath> = None;
        for (path, located) in places {
            if last.as_ref().is_some_and(|last| is_in(&path, last)) {
                continue;
            }
            match located {
                Ok(folder) => scopes.push(begin(folder)?),
                Err(batch) if matches_extensions(&batch, &query.extensions) => {
                    scopes.push(SearchScope::File(Some(batch)));
                }
                Err(_) => {}
            }
            last = Some(path);
        }
        Ok(scopes)
    }

    /// Returns a folder, or a file with its folder. Links on the path are resolved here, once.
    fn scope_place(&self, path: &VaultPath) -> Result<(VaultPath, Result<WalkFolder, WalkBatch>), Fault> {
        let file = |dir, path: &VaultPath, kind| {
            let folder = Arc::new(WalkFolder::new(dir, path.parent()));
            WalkBatch { folder, entries: vec![WalkEntry { name: path.name().to_owned(), kind }] }
        };
        let (on_disk, moved) = match self.files.overlay_entry(path) {
            None => (path.clone(), false),
            Some(OverlayEntry::Moved(from)) => (from, true),
            Some(OverlayEntry::Removed) => return Err(absent(path)),
            Some(OverlayEntry::Folder) => {
                return Ok((path.clone(), Ok(WalkFolder::new(None, Some(path.clone())))));
            }
            Some(OverlayEntry::File(bytes)) => {
                return Ok((path.clone(), Err(file(None, path, WalkEntryKind::Bytes(bytes)))));
            }
        };
        let located = match self.locate(&on_disk, FinalLink::Follow)? {
            Location::Found(located) => located,
            Location::Missing(missing_path) => return Err(missing_path.not_found(path)),
        };
        let spelled = if moved { path.clone() } else { located.path.clone() };
        match located.kind() {
            NodeKind::Folder => {
                let open = self.open_folder(Some(&located.path))?;
                Ok((spelled.clone(), Ok(WalkFolder::new(Some(open.dir), Some(spelled)))))
            }
            NodeKind::File => {
                let batch = file(None, &spelled, WalkEntryKind::Elsewhere(located));
                Ok((spelled, Err(batch)))
            }
            NodeKind::Link | NodeKind::Other => Err(Fault::new(
                Failure::PreconditionFailed,
                format!("`{path}` is a pipe, a socket or a device, not a file"),
            )
            .hint("name files and folders")),
        }
    }
}

fn is_in(path: &VaultPath, folder: &VaultPath) -> bool {
    folder.segments().eq(path.segments().take(folder.segments().count()))
}

fn matches_extensions(batch: &WalkBatch, extensions: &[String]) -> bool {
    extensions.is_empty() || batch.entries.iter().all(|item| has_extension(&item.name, extensions))
}
