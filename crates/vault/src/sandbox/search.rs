//! Search: the text of every file in some folders, or of some files.
//!
//! The walk gives the files in order, several threads read them, and the matches are taken in the order of
//! the paths: the first ones are always the same ones, and the search ends as soon as they are known. A file
//! is opened by name from the handle of its folder and without following links.

mod needle;
mod scan;
mod scopes;
mod snippet;

use std::ops::ControlFlow;
use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Fault, VaultPath};
use rustix::io::Errno;

use self::scan::{Hit, Scanned, Scanner};
use super::change::Witness;
use super::fault;
use super::folder;
use super::in_order::{Halt, in_order};
use super::tree::{Batch, Folder, Leaf, What};
use super::vault::Vault;

pub use needle::{Needle, Reading};

/// Files that one thread takes at a time.
const BATCH: usize = 32;
/// The search ends before its matches take more than about this as text, whatever its limit: what is larger
/// than a result may be is of no use to anyone.
const RESULT_BYTES: usize = 8 << 20;
/// What a match takes as text besides its path and its snippet.
const MATCH_BYTES: usize = 80;

/// What to search for, and where.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub needle: Needle,
    /// Files and folders; `None` is the whole vault. Without any the whole vault is searched.
    pub scopes: Vec<Option<VaultPath>>,
    /// Lower case, without the dot. When there are any, only files that end in one of them are searched.
    pub extensions: Vec<String>,
    pub limit: usize,
    /// Characters of a snippet.
    pub snippet_length: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finds {
    /// In the order of the paths, then of the places in the file.
    pub matches: Vec<TextMatch>,
    /// There are matches after the last one.
    pub more: bool,
    /// Files that were read, up to the one with the last match if there are more.
    pub searched: u64,
    /// Files that were passed over: no text, or not readable.
    pub skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    pub path: VaultPath,
    /// Counted from 1.
    pub line: u64,
    /// The bytes of the file that match.
    pub start: u64,
    pub end: u64,
    pub snippet: String,
}

/// What became of one file.
struct Searched {
    name: String,
    scanned: Scanned,
}

impl Vault {
    /// Searches until `limit` matches are known. `heard` is told after each file, in order.
    pub fn search(
        &self,
        query: &SearchQuery,
        heard: &mut (dyn FnMut(&Finds) + Send),
        witness: &dyn Witness,
    ) -> Result<Finds, Fault> {
        let mut scopes = self.scopes(query)?.into_iter();
        // One more than wanted shows that there are more.
        let most = query.limit.saturating_add(1);
        let mut scope = scopes.next();
        let mut finds = Finds::default();
        let mut bytes = 0;
        in_order(
            &|| witness.may_go_on(),
            |_| {
                while let Some(current) = &mut scope {
                    if let Some(batch) = current.next(BATCH)? {
                        return Ok(Some(batch));
                    }
                    scope = scopes.next();
                }
                Ok(None)
            },
            || {
                let mut scanner = Scanner::new(&query.needle, query.snippet_length, most);
                move |batch, halt: &Halt<'_>| self.search_batch(batch, most, &mut scanner, halt)
            },
            |(folder, files): (Arc<Folder>, Vec<Searched>)| {
                for file in files {
                    finds.take(&folder, file, query.limit, &mut bytes);
                    if finds.more {
                        return ControlFlow::Break(());
                    }
                    heard(&finds);
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(finds)
    }
}

impl Finds {
    fn take(&mut self, folder: &Folder, file: Searched, limit: usize, bytes: &mut usize) {
        let hits = match file.scanned {
            Scanned::Text(hits) => hits,
            Scanned::Skipped => {
                self.skipped += 1;
                return;
            }
        };
        self.searched += 1;
        let Some(path) = folder.child(&file.name).filter(|_| !hits.is_empty()) else {
            return;
        };
        for Hit { line, start, end, snippet } in hits {
            *bytes += path.as_str().len() + snippet.len() + MATCH_BYTES;
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
        batch: Batch,
        most: usize,
        scanner: &mut Scanner,
        halt: &Halt<'_>,
    ) -> Result<(Arc<Folder>, Vec<Searched>), Fault> {
        let Batch { folder, leaves } = batch;
        let mut files = Vec::with_capacity(leaves.len());
        let mut room = most;
        for Leaf { name, what } in leaves {
            // Whatever comes after so many matches is never taken.
            if room == 0 {
                break;
            }
            let scanned = match (self.unsaved(&folder, &name, &what), &what, &folder.dir) {
                (Some(text), _, _) => Some(scanner.scan(&mut text.as_bytes(), halt)?),
                (None, What::Bytes(bytes), _) => Some(scanner.scan(&mut &bytes[..], halt)?),
                (None, What::File, Some(dir)) => scan_file(dir, &name, scanner, halt)?,
                (None, What::Elsewhere(place), _) => scan_file(&place.dir, &place.name, scanner, halt)?,
                (None, What::File, None) | (None, What::Folder | What::Link(..), _) => None,
            };
            if let Some(Scanned::Text(hits)) = &scanned {
                room = room.saturating_sub(hits.len());
            }
            files.extend(scanned.map(|scanned| Searched { name, scanned }));
        }
        Ok((folder, files))
    }

    /// The text of a note that is open in a host and not saved as it stands.
    fn unsaved(&self, folder: &Folder, name: &str, what: &What) -> Option<String> {
        let host = self.host.get()?;
        match what {
            What::File => host.unsaved(&folder.child(name)?),
            What::Elsewhere(place) => host.unsaved(&place.path),
            What::Bytes(_) | What::Folder | What::Link(..) => None,
        }
    }
}

/// `None` when it was taken away, or swapped for something that is no file, since the folder was read.
fn scan_file(
    dir: &Dir,
    name: &str,
    scanner: &mut Scanner,
    halt: &Halt<'_>,
) -> Result<Option<Scanned>, Fault> {
    match folder::open_file(dir, name) {
        Ok(mut file) => scanner.scan(&mut file, halt).map(Some),
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
            Err(fault::from_errno("open", name, error))
        }
        Err(_) => Ok(Some(Scanned::Skipped)),
    }
}
