//! Where a search looks: folders to walk and single files, each once and in the order of their paths.

use std::sync::Arc;

use envelope::{Failure, Fault, VaultPath};

use super::super::folder::Kind;
use super::super::list::absent;
use super::super::locate::{Found, LastLink};
use super::super::shadow::Shadowed;
use super::super::tree::{Batch, Folder, Leaf, Walk, What, Wish, ends_in_one_of};
use super::super::vault::Vault;
use super::SearchQuery;

/// One place to search: a folder to walk, or one file.
pub(super) enum Scope<'a> {
    Folder(Walk<'a>),
    File(Option<Batch>),
}

impl Scope<'_> {
    /// The next files in order, at most `most`; `None` at the end.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Batch>, Fault> {
        match self {
            Scope::Folder(walk) => walk.next(most),
            Scope::File(batch) => Ok(batch.take()),
        }
    }
}

impl Vault {
    /// The places to search, in order and without one inside another.
    pub(super) fn scopes<'a>(&'a self, query: &'a SearchQuery) -> Result<Vec<Scope<'a>>, Fault> {
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

fn is_in(path: &VaultPath, folder: &VaultPath) -> bool {
    folder.segments().eq(path.segments().take(folder.segments().count()))
}

fn ends_as_wished(batch: &Batch, extensions: &[String]) -> bool {
    extensions.is_empty() || batch.leaves.iter().all(|leaf| ends_in_one_of(&leaf.name, extensions))
}
