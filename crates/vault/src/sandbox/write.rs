//! Writing whole files: complete and durable before they have a name, never in place.

use envelope::{Failure, Fault, VaultPath};
use rustix::io::Errno;

use super::change::{Change, Witness};
use super::etag::etag_of;
use super::fault;
use super::folder::{self, Kind};
use super::locate::{Found, Gap, LastLink, OpenFolder, Place, child};
use super::make_folder::{paths_of, refuse_twin};
use super::read::{open_place, whole_etag};
use super::temp::Temp;
use super::twins::{Claim, twin_of};
use super::unique::unique_names;
use super::vault::Vault;

/// How often a file that appears and disappears while it is written is tried again.
const MAX_TRIES: u32 = 16;

/// A file as it was written, or as it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// As it is spelled on disk.
    pub path: VaultPath,
    pub etag: String,
    /// Absent when nothing was written.
    pub mtime_ms: Option<i64>,
    /// False when a file was replaced.
    pub created: bool,
}

impl Vault {
    /// Creates a file, with the folders above it. Anything that is there already, a twin or a dangling link
    /// included, is a conflict.
    pub fn create(&self, path: &VaultPath, bytes: &[u8], witness: &dyn Witness) -> Result<Written, Fault> {
        let folder = self.folder_of(path, witness)?;
        match self.create_in(&folder, std::iter::once(path.name().to_owned()), bytes, witness)? {
            Some(written) => Ok(written),
            None => Err(self.occupied(path)),
        }
    }

    /// Creates a file under the first free name of `Note.md`, `Note 1.md`, `Note 2.md` and so on.
    pub fn create_unique(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        let folder = self.folder_of(path, witness)?;
        self.create_in(&folder, unique_names(path.name()), bytes, witness)?.ok_or_else(|| no_free_name(path))
    }

    /// Creates a file or puts it in the place of the one that is there, whose mode it keeps.
    ///
    /// A link in the last place keeps pointing where it did; the file it points to is replaced.
    pub fn overwrite(&self, path: &VaultPath, bytes: &[u8], witness: &dyn Witness) -> Result<Written, Fault> {
        for _ in 0..MAX_TRIES {
            match self.locate(path, LastLink::Follow)? {
                Found::Place(place) => {
                    if let Some(written) = replace(place, bytes, witness)? {
                        return Ok(written);
                    }
                }
                Found::Nothing(_) => {
                    let folder = self.folder_of(path, witness)?;
                    let name = std::iter::once(path.name().to_owned());
                    if let Some(written) = self.create_in(&folder, name, bytes, witness)? {
                        return Ok(written);
                    }
                    let found = twin_of(&folder.dir, path.name());
                    if let Ok(Some(existing)) = found
                        && existing != path.name()
                    {
                        let existing = child(folder.path.as_ref(), &existing);
                        return Err(fault::twin(path.as_str(), &existing));
                    }
                }
            }
        }
        Err(fault::restless(path.as_str()))
    }

    /// The path that [`Vault::create`] would use, or why it would refuse.
    pub fn would_create(&self, path: &VaultPath) -> Result<VaultPath, Fault> {
        match self.locate(path, LastLink::Keep)? {
            Found::Place(_) => Err(self.occupied(path)),
            Found::Nothing(gap) => {
                refuse_twin(&gap)?;
                missing_path(&gap, path)
            }
        }
    }

    /// The path that [`Vault::create_unique`] would use.
    pub fn would_create_unique(&self, path: &VaultPath) -> Result<VaultPath, Fault> {
        let parent = path.parent();
        let folder = match parent.as_ref().map(|parent| self.locate(parent, LastLink::Follow)).transpose()? {
            Some(Found::Nothing(gap)) => {
                refuse_twin(&gap)?;
                let parent = paths_of(&gap)?.pop();
                return spelled_in(parent.as_ref(), path.name());
            }
            Some(Found::Place(_)) | None => self.open_folder(parent.as_ref())?,
        };
        let failed = |error| fault::from_errno("list the folder of", path.as_str(), error);
        let taken: std::collections::HashSet<String> = folder::names(&folder.dir)
            .map_err(failed)?
            .named
            .iter()
            .map(|named| VaultPath::fold_name(&named.name))
            .collect();
        let free = unique_names(path.name()).find(|name| !taken.contains(&VaultPath::fold_name(name)));
        free.map(|name| spelled(&folder, &name)).unwrap_or_else(|| Err(no_free_name(path)))
    }

    /// The path that [`Vault::overwrite`] would write to, and the etag of what is there.
    pub fn would_overwrite(
        &self,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<(VaultPath, Option<String>), Fault> {
        match self.locate(path, LastLink::Follow)? {
            Found::Place(place) => match open_place(place)? {
                Some(open) => Ok((open.path.clone(), Some(whole_etag(&open, witness)?))),
                None => Err(fault::restless(path.as_str())),
            },
            Found::Nothing(gap) => {
                refuse_twin(&gap)?;
                Ok((missing_path(&gap, path)?, None))
            }
        }
    }

    fn folder_of(&self, path: &VaultPath, witness: &dyn Witness) -> Result<OpenFolder, Fault> {
        Vault::refuse_protected(path)?;
        let Some(parent) = path.parent() else {
            return self.open_folder(None);
        };
        match self.quick_folder(Some(&parent)) {
            Some(dir) => Ok(OpenFolder { dir, path: Some(parent) }),
            None => self.open_or_make(&parent, witness, fault::below_a_file).map(|(folder, _)| folder),
        }
    }

    /// Creates the file under the first of `names` that is free; `None` when none is.
    fn create_in(
        &self,
        folder: &OpenFolder,
        names: impl Iterator<Item = String>,
        bytes: &[u8],
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        let mut temp: Option<Temp<'_>> = None;
        for name in names {
            // A glance before the work: most collisions cost no temporary file.
            if folder::stat(&folder.dir, &name).is_ok() {
                continue;
            }
            let path = spelled(folder, &name)?;
            let failed = |error| fault::from_errno("create", path.as_str(), error);
            witness.may_go_on()?;
            let temp = match &mut temp {
                Some(temp) => temp,
                none => none.insert(Temp::write(&folder.dir, bytes, None).map_err(failed)?),
            };
            // The last moment at which the call can be stopped without an effect.
            witness.may_go_on()?;
            match self.twins.claim(&folder.dir, &name, || temp.link(&name)).map_err(failed)? {
                Claim::Taken => {}
                Claim::Made => {
                    witness.saw(Change::FileCreated { path: path.clone() });
                    folder::sync(&folder.dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
                    let stat = temp.stat().map_err(failed)?;
                    let mtime_ms = Some(folder::mtime_ms(&stat));
                    return Ok(Some(Written { path, etag: etag_of(bytes), mtime_ms, created: true }));
                }
            }
        }
        Ok(None)
    }

    /// What is in the way of a new file.
    fn occupied(&self, path: &VaultPath) -> Fault {
        let place = match self.locate(path, LastLink::Keep) {
            Ok(Found::Place(place)) => place,
            Ok(Found::Nothing(gap)) => {
                return refuse_twin(&gap).err().unwrap_or_else(|| fault::restless(path.as_str()));
            }
            Err(fault) => return fault,
        };
        let what = match place.kind() {
            Kind::Folder => "a folder",
            Kind::File => "a file",
            Kind::Link => {
                // A link out of the vault is more than a conflict: say so.
                match self.locate(path, LastLink::Follow) {
                    Err(fault) if fault.failure == Failure::SandboxViolation => return fault,
                    Ok(_) | Err(_) => "a link",
                }
            }
            Kind::Other => "something that is not a file",
        };
        Fault::new(Failure::Conflict, format!("`{}` already exists ({what})", place.path))
            .detail("existing", place.path.as_str())
            .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\"")
    }
}

/// Replaces a file; `None` when it was swapped meanwhile.
fn replace(place: Place, bytes: &[u8], witness: &dyn Witness) -> Result<Option<Written>, Fault> {
    let (dir, name) = (place.dir.clone(), place.name.clone());
    let Some(open) = open_place(place)? else {
        return Ok(None);
    };
    let path = open.path.clone();
    let failed = |error: Errno| fault::from_errno("write", path.as_str(), error);
    let before_etag = whole_etag(&open, witness)?;
    let mut temp = Temp::write(&dir, bytes, Some(open.mode())).map_err(failed)?;
    witness.may_go_on()?;
    temp.replace(&name).map_err(failed)?;
    let etag = etag_of(bytes);
    witness.saw(Change::FileReplaced { path: path.clone(), before_etag, after_etag: etag.clone() });
    folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
    let mtime_ms = Some(folder::mtime_ms(&temp.stat().map_err(failed)?));
    Ok(Some(Written { path, etag, mtime_ms, created: false }))
}

/// The whole path that is missing, as its existing part is spelled on disk.
fn missing_path(gap: &Gap, asked: &VaultPath) -> Result<VaultPath, Fault> {
    Ok(paths_of(gap)?.pop().unwrap_or_else(|| asked.clone()))
}

fn spelled(folder: &OpenFolder, name: &str) -> Result<VaultPath, Fault> {
    spelled_in(folder.path.as_ref(), name)
}

fn spelled_in(folder: Option<&VaultPath>, name: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse(&child(folder, name))
        .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

fn no_free_name(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` and every numbered name after it exist"))
        .hint("choose another name")
}
