//! Search: the text of every file in some folders, or of some files.
//!
//! The walk gives the files in order, several threads read them, and the matches are taken in the order of
//! the paths: the first ones are always the same ones, and the search ends as soon as they are known. A file
//! is opened by name from the handle of its folder and without following links.

mod needle;
mod scan;
mod snippet;

use std::ops::ControlFlow;
use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, VaultPath};
use rustix::io::Errno;

use self::scan::{Hit, Scanned, Scanner};
use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::in_order::{Halt, in_order};
use super::list::absent;
use super::locate::{Found, LastLink};
use super::shadow::Shadowed;
use super::tree::{Batch, Folder, Leaf, Walk, What, Wish, ends_in_one_of};
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

/// One place to search: a folder to walk, or one file.
enum Scope<'a> {
    Folder(Walk<'a>),
    File(Option<Batch>),
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

        let mut scope = scopes.next();
        let mut finds = Finds::default();
        let mut bytes = 0;
        in_order(
            &|| witness.may_go_on(),
            |_| {
                while let Some(current) = &mut scope {
                    let batch = match current {
                        Scope::Folder(walk) => walk.next(BATCH)?,
                        Scope::File(batch) => batch.take(),
                    };
                    if batch.is_some() {
                        return Ok(batch);
                    }
                    scope = scopes.next();
                }
                Ok(None)
            },
            || {
                // One more than wanted shows that there are more.
                let mut scanner =
                    Scanner::new(&query.needle, query.snippet_length, query.limit.saturating_add(1));
                move |batch, halt: &Halt<'_>| self.search_batch(batch, &mut scanner, halt)
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

    /// The places to search, in order and without one inside another.
    fn scopes<'a>(&'a self, query: &'a SearchQuery) -> Result<Vec<Scope<'a>>, Fault> {
        let wish = || Wish { recursive: true, extensions: &query.extensions, only_files: true };
        let begin = |folder| Walk::begin(self, wish(), folder, Vec::new()).map(Scope::Folder);
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
        for (path, place) in places {
            if last.as_ref().is_some_and(|last| is_in(&path, last)) {
                continue;
            }
            match place {
                Ok(folder) => scopes.push(begin(folder)?),
                Err(batch) if ends_as_wished(&batch, &query.extensions) => {
                    scopes.push(Scope::File(Some(batch)));
                }
                Err(_) => {}
            }
            last = Some(path);
        }
        Ok(scopes)
    }

    /// A folder, or a file with the folder it is in. Links on the way are resolved here, once.
    fn scope_place(&self, path: &VaultPath) -> Result<(VaultPath, Result<Folder, Batch>), Fault> {
        let file = |dir, path: &VaultPath, what| {
            let folder = Arc::new(Folder { dir, path: path.parent() });
            Batch { folder, leaves: vec![Leaf { name: path.name().to_owned(), what }] }
        };
        let (on_disk, moved) = match self.shadowed(path) {
            None => (path.clone(), false),
            Some(Shadowed::Moved(from)) => (from, true),
            Some(Shadowed::Removed) => return Err(absent(path)),
            Some(Shadowed::Folder) => {
                return Ok((path.clone(), Ok(Folder { dir: None, path: Some(path.clone()) })));
            }
            Some(Shadowed::File(bytes)) => {
                return Ok((path.clone(), Err(file(None, path, What::Bytes(bytes)))));
            }
        };
        let place = match self.locate(&on_disk, LastLink::Follow)? {
            Found::Place(place) => place,
            Found::Nothing(gap) => return Err(gap.not_found(path)),
        };
        let spelled = if moved { path.clone() } else { place.path.clone() };
        match place.kind() {
            Kind::Folder => {
                let open = self.open_folder(Some(&place.path))?;
                Ok((spelled.clone(), Ok(Folder { dir: Some(open.dir), path: Some(spelled) })))
            }
            Kind::File => {
                let batch = file(None, &spelled, What::Elsewhere(place));
                Ok((spelled, Err(batch)))
            }
            Kind::Link | Kind::Other => Err(Fault::new(
                Failure::PreconditionFailed,
                format!("`{path}` is a pipe, a socket or a device, not a file"),
            )
            .hint("name files and folders")),
        }
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
        scanner: &mut Scanner,
        halt: &Halt<'_>,
    ) -> Result<(Arc<Folder>, Vec<Searched>), Fault> {
        let Batch { folder, leaves } = batch;
        let mut files = Vec::with_capacity(leaves.len());
        for Leaf { name, what } in leaves {
            let scanned = match (self.unsaved(&folder, &name, &what), &what, &folder.dir) {
                (Some(text), _, _) => Some(scanner.scan(&mut text.as_bytes(), halt)?),
                (None, What::Bytes(bytes), _) => Some(scanner.scan(&mut &bytes[..], halt)?),
                (None, What::File, Some(dir)) => scan_file(dir, &name, scanner, halt)?,
                (None, What::Elsewhere(place), _) => scan_file(&place.dir, &place.name, scanner, halt)?,
                (None, What::File, None) | (None, What::Folder | What::Link(..), _) => None,
            };
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

fn is_in(path: &VaultPath, folder: &VaultPath) -> bool {
    folder.segments().eq(path.segments().take(folder.segments().count()))
}

fn ends_as_wished(batch: &Batch, extensions: &[String]) -> bool {
    extensions.is_empty() || batch.leaves.iter().all(|leaf| ends_in_one_of(&leaf.name, extensions))
}
