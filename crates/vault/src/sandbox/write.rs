//! Writing whole files: complete and durable before they have a name, never in place.

use envelope::{Failure, Fault, VaultPath};
use rustix::io::Errno;

use super::change::{Change, Witness};
use super::etag::etag_of;
use super::fault;
use super::folder::{self, Kind};
use super::free_name::FreeName;
use super::locate::{Found, Gap, LastLink, OpenFolder, Place, child};
use super::make_folder::{paths_of, refuse_twin};
use super::read::{open_place, whole_etag};
use super::temp::Temp;
use super::twins::{Claim, twin_of};
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
        match self.create_exactly(path, bytes, witness)? {
            Some(written) => Ok(written),
            None => Err(self.occupied(path)),
        }
    }

    /// Creates a file under the name that was chosen for it, and under no other.
    pub fn create_chosen(
        &self,
        name: &FreeName,
        bytes: &[u8],
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        let path = name.path();
        self.create_exactly(path, bytes, witness)?.ok_or_else(|| {
            Fault::new(
                Failure::Conflict,
                format!("`{path}` was free when it was chosen and has been taken since"),
            )
            .detail("existing", path.as_str())
            .hint("call again: the next free name will be chosen")
            .retryable(true)
        })
    }

    /// Creates a file or puts it in the place of the one that is there, whose mode it keeps.
    ///
    /// A link in the last place keeps pointing where it did; the file it points to is replaced.
    pub fn overwrite(&self, path: &VaultPath, bytes: &[u8], witness: &dyn Witness) -> Result<Written, Fault> {
        for _ in 0..MAX_TRIES {
            match self.locate(path, LastLink::Follow)? {
                Found::Place(place) => {
                    if let Some(written) = self.replace(place, bytes, witness)? {
                        return Ok(written);
                    }
                }
                Found::Nothing(_) => {
                    let folder = self.folder_of(path, witness)?;
                    if let Some(written) = self.create_in(&folder, path.name(), bytes, witness)? {
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

    /// Creates the file at this path; `None` when the name is taken.
    fn create_exactly(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        let folder = self.folder_of(path, witness)?;
        self.create_in(&folder, path.name(), bytes, witness)
    }

    fn create_in(
        &self,
        folder: &OpenFolder,
        name: &str,
        bytes: &[u8],
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        // A glance before the work: most collisions cost no temporary file.
        if folder::stat(&folder.dir, name).is_ok() {
            return Ok(None);
        }
        let path = spelled_in(folder.path.as_ref(), name)?;
        let failed = |error| fault::from_errno("create", path.as_str(), error);
        witness.may_go_on()?;
        self.leftovers.remove_once(&folder.dir);
        let mut temp = Temp::write(&folder.dir, bytes, None).map_err(failed)?;
        // The last moment at which the call can be stopped without an effect.
        witness.may_go_on()?;
        match self.twins.claim(&folder.dir, name, || temp.link(name)).map_err(failed)? {
            Claim::Taken => Ok(None),
            Claim::Made => {
                witness.saw(Change::FileCreated { path: path.clone() });
                folder::sync(&folder.dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
                let stat = temp.stat().map_err(failed)?;
                let mtime_ms = Some(folder::mtime_ms(&stat));
                Ok(Some(Written { path, etag: etag_of(bytes), mtime_ms, created: true }))
            }
        }
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
        let (what, can_be_replaced) = match place.kind() {
            Kind::Folder => ("a folder", false),
            Kind::File => ("a file", true),
            Kind::Link => match self.locate(path, LastLink::Follow) {
                // A link out of the vault is more than a conflict: say so.
                Err(fault) if fault.failure == Failure::SandboxViolation => return fault,
                Ok(Found::Place(target)) => ("a link", target.kind() == Kind::File),
                Ok(Found::Nothing(_)) | Err(_) => ("a link that leads to no file", false),
            },
            Kind::Other => ("a pipe, a socket or a device", false),
        };
        Fault::new(Failure::Conflict, format!("`{}` already exists ({what})", place.path))
            .detail("existing", place.path.as_str())
            .hint(if can_be_replaced {
                "choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""
            } else {
                "choose another path, or set collisionStrategy to \"create-unique\""
            })
    }

    /// Replaces a file; `None` when it was swapped meanwhile.
    fn replace(&self, place: Place, bytes: &[u8], witness: &dyn Witness) -> Result<Option<Written>, Fault> {
        let (dir, name) = (place.dir.clone(), place.name.clone());
        let Some(open) = open_place(place)? else {
            return Ok(None);
        };
        let path = open.path.clone();
        let failed = |error: Errno| fault::from_errno("write", path.as_str(), error);
        let before_etag = whole_etag(&open, witness)?;
        self.leftovers.remove_once(&dir);
        let mut temp = Temp::write(&dir, bytes, Some(open.mode())).map_err(failed)?;
        witness.may_go_on()?;
        temp.replace(&name).map_err(failed)?;
        let etag = etag_of(bytes);
        witness.saw(Change::FileReplaced { path: path.clone(), before_etag, after_etag: etag.clone() });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
        let mtime_ms = Some(folder::mtime_ms(&temp.stat().map_err(failed)?));
        Ok(Some(Written { path, etag, mtime_ms, created: false }))
    }
}

/// The whole path that is missing, as its existing part is spelled on disk.
fn missing_path(gap: &Gap, asked: &VaultPath) -> Result<VaultPath, Fault> {
    Ok(paths_of(gap)?.pop().unwrap_or_else(|| asked.clone()))
}

pub(super) fn spelled_in(folder: Option<&VaultPath>, name: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse(&child(folder, name))
        .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

pub(super) fn no_free_name(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` and every numbered name after it exist"))
        .hint("choose another name")
}
