//! Searches the text of every file in some folders, or of some files.
//!
//! The walk returns the files in order, several threads read them, and the matches are taken in the order of
//! the paths: the first matches are always the same, and the search ends as soon as they are known. A file is
//! opened by name from the handle of its folder and without following links.

mod pattern;
mod scan;
mod scopes;
mod snippet;

use std::ops::ControlFlow;
use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Fault, VaultPath};
use rustix::io::Errno;

use self::scan::{FileScanner, ScanHit, ScanResult};
use super::fault;
use super::folder;
use super::io_context::IoContext;
use super::ordered_executor::{StopCheck, execute_in_order};
use super::tree_walk::{WalkBatch, WalkEntry, WalkEntryKind, WalkFolder};
use super::vault::Vault;

pub use pattern::{QuerySyntax, SearchPattern};

/// Files per unit of work.
const BATCH: usize = 32;
/// Approximate limit for the text of a result, whatever its limit of matches: a larger result could not be used.
const RESULT_BYTES: usize = 8 << 20;
/// Approximate size of a match as text without path and snippet.
const MATCH_BYTES: usize = 80;

/// Query of a search.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub pattern: SearchPattern,
    /// Files and folders; `None` is the whole vault. Empty means the whole vault.
    pub scopes: Vec<Option<VaultPath>>,
    /// Lower case, without the dot. If not empty, only files with one of these extensions are searched.
    pub extensions: Vec<String>,
    pub limit: usize,
    /// Length of a snippet in characters.
    pub snippet_length: usize,
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResults {
    /// In the order of the paths, then of the positions in the file.
    pub matches: Vec<TextMatch>,
    /// There are matches after the last one.
    pub more: bool,
    /// Files that were read, up to the one with the last match if there are more.
    pub searched: u64,
    /// Files that were skipped: not text, or not readable.
    pub skipped: u64,
    /// Folders that could not be opened, in order, up to the last match if there are more. Each ends in `/`.
    pub not_looked_into: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    /// With escapes where it is not portable. A path that is too long for other tools is not a [`VaultPath`].
    pub path: Arc<str>,
    /// Counted from 1.
    pub line: u64,
    /// The bytes of the file that match.
    pub start: u64,
    pub end: u64,
    pub snippet: String,
}

/// Result for one file.
struct SearchedFile {
    name: String,
    scanned: ScanResult,
}

impl Vault {
    /// Searches until `limit` matches are found. `on_file` is called after each file, in order.
    pub fn search(
        &self,
        query: &SearchQuery,
        on_file: &mut (dyn FnMut(&SearchResults) + Send),
        io: &dyn IoContext,
    ) -> Result<SearchResults, Fault> {
        let mut scopes = self.scopes(query)?.into_iter();
        // One more than requested shows that there are more.
        let most = query.limit.saturating_add(1);
        let mut scope = scopes.next();
        let mut finds = SearchResults::default();
        let (mut bytes, mut not_looked_into) = (0, Vec::new());
        execute_in_order(
            &|| io.check_cancelled(),
            |_| {
                while let Some(current) = &mut scope {
                    if let Some(batch) = current.next(BATCH)? {
                        return Ok(Some(batch));
                    }
                    not_looked_into.extend(current.not_looked_into());
                    scope = scopes.next();
                }
                Ok(None)
            },
            || {
                let mut scanner = FileScanner::new(&query.pattern, query.snippet_length, most);
                move |batch, stop: &StopCheck<'_>| self.search_batch(batch, most, &mut scanner, stop)
            },
            |(folder, files): (Arc<WalkFolder>, Vec<SearchedFile>)| {
                for file in files {
                    finds.add_file(&folder, file, query.limit, &mut bytes);
                    if finds.more {
                        return ControlFlow::Break(());
                    }
                    on_file(&finds);
                }
                ControlFlow::Continue(())
            },
        )?;
        if let Some(current) = &mut scope {
            not_looked_into.extend(current.not_looked_into());
        }
        finds.not_looked_into = not_looked_into;
        if finds.more {
            // How far the walk has gone ahead of the last match depends on the threads.
            let last = finds.matches.last().map(|found| &found.path);
            let before = |path: &String| last.is_some_and(|last| path.split('/').lt(last.split('/')));
            finds.not_looked_into.retain(before);
        }
        Ok(finds)
    }
}

impl SearchResults {
    fn add_file(&mut self, folder: &WalkFolder, file: SearchedFile, limit: usize, bytes: &mut usize) {
        let hits = match file.scanned {
            ScanResult::Text(hits) => hits,
            ScanResult::Skipped => {
                self.skipped += 1;
                return;
            }
        };
        self.searched += 1;
        if hits.is_empty() {
            return;
        }
        let path: Arc<str> = folder.shown_child(&file.name).into();
        for ScanHit { line, start, end, snippet } in hits {
            *bytes += path.len() + snippet.len() + MATCH_BYTES;
            if self.matches.len() >= limit || *bytes > RESULT_BYTES {
                self.more = true;
                return;
            }
            self.matches.push(TextMatch { path: path.clone(), line, start, end, snippet });
        }
    }
}

impl Vault {
    fn search_batch(
        &self,
        batch: WalkBatch,
        most: usize,
        scanner: &mut FileScanner,
        stop: &StopCheck<'_>,
    ) -> Result<(Arc<WalkFolder>, Vec<SearchedFile>), Fault> {
        let WalkBatch { folder, entries } = batch;
        let mut files = Vec::with_capacity(entries.len());
        let mut room = most;
        for WalkEntry { name, kind } in entries {
            // Matches after this many are never used.
            if room == 0 {
                break;
            }
            let scanned = match (self.unsaved(&folder, &name, &kind)?, &kind, &folder.dir) {
                (Some(text), _, _) => Some(scanner.scan(&mut text.as_bytes(), stop)?),
                (None, WalkEntryKind::Bytes(bytes), _) => Some(scanner.scan(&mut &bytes[..], stop)?),
                (None, WalkEntryKind::File, Some(dir)) => scan_file(dir, &name, scanner, stop)?,
                (None, WalkEntryKind::Elsewhere(located), _) => {
                    scan_file(&located.dir, &located.name, scanner, stop)?
                }
                (None, WalkEntryKind::File, None)
                | (None, WalkEntryKind::Folder | WalkEntryKind::Link(..), _) => None,
            };
            if let Some(ScanResult::Text(hits)) = &scanned {
                room = room.saturating_sub(hits.len());
            }
            files.extend(scanned.map(|scanned| SearchedFile { name, scanned }));
        }
        Ok((folder, files))
    }

    /// Returns the unsaved text of a note that is open in a host.
    fn unsaved(
        &self,
        folder: &WalkFolder,
        name: &str,
        kind: &WalkEntryKind,
    ) -> Result<Option<String>, Fault> {
        match kind {
            WalkEntryKind::File => match folder.child(name) {
                Some(path) => self.unsaved_text(&path),
                None => Ok(None),
            },
            WalkEntryKind::Elsewhere(located) => self.unsaved_text(&located.path),
            WalkEntryKind::Bytes(_) | WalkEntryKind::Folder | WalkEntryKind::Link(..) => Ok(None),
        }
    }
}

/// Scans one file. Returns `None` if it was removed or replaced by another kind since the folder was read.
fn scan_file(
    dir: &Dir,
    name: &str,
    scanner: &mut FileScanner,
    stop: &StopCheck<'_>,
) -> Result<Option<ScanResult>, Fault> {
    match folder::open_file(dir, name) {
        Ok(mut file) => scanner.scan(&mut file, stop).map(Some),
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
            Err(fault::from_errno("open", name, error))
        }
        Err(_) => Ok(Some(ScanResult::Skipped)),
    }
}
