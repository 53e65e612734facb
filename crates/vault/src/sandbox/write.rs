//! Writing whole files: complete and durable before they have a name, never in place.

use envelope::{Change, Failure, Fault, VaultPath};
use rustix::fs::Mode;

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::layer::taken;
use super::locate::{Found, Gap, LastLink, OpenFolder, child};
use super::make_folder::{paths_of, refuse_twin};
use super::step::{Content, Step};
use super::survey::Seen;
use super::temp::Temp;
use super::twins::Claim;
use super::vault::Vault;

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
        let content = Content::of(bytes);
        if let Some(layer) = &self.layer {
            let step = Step::CreateFile { path: path.clone(), content, mode: None };
            return layer.apply(self, &step, witness)?.ok_or_else(|| fault::restless(path.as_str()));
        }
        self.create_content(path, &content, None, witness)
    }

    /// [`Vault::create`] for any content and mode.
    pub(super) fn create_content(
        &self,
        path: &VaultPath,
        content: &Content,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        match self.create_exactly(path, content, mode, witness)? {
            Some(written) => Ok(written),
            None => Err(self.occupied(path)),
        }
    }

    /// The path that [`Vault::create`] would use, or why it would refuse.
    pub fn would_create(&self, path: &VaultPath, witness: &dyn Witness) -> Result<VaultPath, Fault> {
        if self.layer.is_some() {
            return self.would_create_imagined(path, witness);
        }
        match self.locate(path, LastLink::Keep)? {
            Found::Place(_) => Err(self.occupied(path)),
            Found::Nothing(gap) => {
                refuse_twin(&gap)?;
                missing_path(&gap, path)
            }
        }
    }

    fn would_create_imagined(&self, path: &VaultPath, witness: &dyn Witness) -> Result<VaultPath, Fault> {
        let survey = self.survey(path, witness)?;
        if survey.seen != Seen::Nothing {
            return Err(taken(path));
        }
        let first = survey.missing.first().unwrap_or(&survey.path);
        let twin = self.layer.as_ref().map(|layer| layer.twin(self, first)).transpose()?;
        match twin.flatten() {
            Some(existing) => Err(fault::twin(first.as_str(), &existing)),
            None => Ok(survey.path),
        }
    }

    fn folder_of(&self, path: &VaultPath, witness: &dyn Witness) -> Result<OpenFolder, Fault> {
        Vault::refuse_protected(path)?;
        let Some(parent) = path.parent() else {
            return self.open_folder(None);
        };
        match self.quick_folder(Some(&parent)) {
            Some(dir) => Ok(OpenFolder { dir, path: Some(parent) }),
            None => self.open_or_make(&parent, None, witness, fault::below_a_file).map(|(folder, _)| folder),
        }
    }

    /// Creates the file at this path; `None` when the name is taken.
    fn create_exactly(
        &self,
        path: &VaultPath,
        content: &Content,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        let folder = self.folder_of(path, witness)?;
        self.create_in(&folder, path.name(), content, mode, witness)
    }

    fn create_in(
        &self,
        folder: &OpenFolder,
        name: &str,
        content: &Content,
        mode: Option<u32>,
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
        let mut temp = Temp::write_with(&folder.dir, path.as_str(), mode.map(Mode::from_raw_mode), |file| {
            content.write_to(file, witness)
        })?;
        // The last moment at which the call can be stopped without an effect.
        witness.may_go_on()?;
        match self.twins.claim(&folder.dir, name, || temp.link(name)).map_err(failed)? {
            Claim::Taken => Ok(None),
            Claim::Made => {
                let stat = temp.stat().map_err(failed)?;
                let after = content.state(stat.st_mode & 0o7777);
                witness.saw(Change::FileCreated { path: path.to_string(), after });
                folder::sync(&folder.dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
                let mtime_ms = Some(folder::mtime_ms(&stat));
                Ok(Some(Written { path, etag: after.etag(), mtime_ms, created: true }))
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
