//! Creates whole files: complete and durable before they have a name, never in place.

use envelope::{Failure, Fault, VaultChange, VaultPath};

use super::change_step::FileContent;
use super::fault;
use super::folder::{self, NodeKind};
use super::io_context::IoContext;
use super::locate::{FinalLink, Location, MissingPath, OpenFolder, child};
use super::make_folder::paths_of;
use super::name_collisions::ClaimOutcome;
use super::temp_file::TempFile;
use super::vault::Vault;
use crate::platform;

/// A file as it was written, or as it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// As it is spelled on disk.
    pub path: VaultPath,
    pub etag: String,
    /// `None` if nothing was written.
    pub mtime_ms: Option<i64>,
    /// False if a file was replaced.
    pub created: bool,
}

impl Vault {
    /// Creates a file and the folders above it. Fails with a conflict if the name is taken, also in another
    /// spelling or by a dangling link.
    pub fn create(&self, path: &VaultPath, bytes: &[u8], io: &dyn IoContext) -> Result<WrittenFile, Fault> {
        self.files.create(self, path, FileContent::of(bytes), io)
    }

    /// [`Vault::create`] for any content and mode.
    pub(super) fn create_content(
        &self,
        path: &VaultPath,
        content: &FileContent,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        match self.create_exactly(path, content, mode, io)? {
            Some(written) => Ok(written),
            None => Err(self.occupied(path)),
        }
    }

    /// Returns the path that [`Vault::create`] would use, or its error.
    pub fn would_create(&self, path: &VaultPath, io: &dyn IoContext) -> Result<VaultPath, Fault> {
        self.files.would_create(self, path, io)
    }

    pub(super) fn would_create_on_disk(&self, path: &VaultPath) -> Result<VaultPath, Fault> {
        match self.locate(path, FinalLink::Keep)? {
            Location::Found(_) => Err(self.occupied(path)),
            Location::Missing(missing_path) => {
                self.refuse_collision(&missing_path)?;
                path_on_disk(&missing_path, path)
            }
        }
    }

    fn folder_of(&self, path: &VaultPath, io: &dyn IoContext) -> Result<OpenFolder, Fault> {
        Vault::refuse_protected(path)?;
        let Some(parent) = path.parent() else {
            return self.open_folder(None);
        };
        match self.quick_folder(Some(&parent)) {
            Some(dir) => Ok(OpenFolder { dir, path: Some(parent) }),
            None => self.open_or_make(&parent, None, io, fault::below_a_file).map(|(folder, _)| folder),
        }
    }

    /// Creates the file at this path. Returns `None` if the name is taken.
    fn create_exactly(
        &self,
        path: &VaultPath,
        content: &FileContent,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        let folder = self.folder_of(path, io)?;
        self.create_in(&folder, path.name(), content, mode, io)
    }

    fn create_in(
        &self,
        folder: &OpenFolder,
        name: &str,
        content: &FileContent,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        // Checked first: most collisions then need no temporary file.
        if folder::stat(&folder.dir, name).is_ok() {
            return Ok(None);
        }
        let path = spelled_in(folder.path.as_ref(), name)?;
        let failed = |error| fault::from_errno("create", path.as_str(), error);
        io.check_cancelled()?;
        self.leftovers.remove_once(&folder.dir);
        let mut temp = TempFile::write_with(&folder.dir, path.as_str(), mode.map(platform::mode), |file| {
            content.write_to(file, io)
        })?;
        // The last moment at which the call can be cancelled without an effect.
        io.check_cancelled()?;
        match self.name_collisions.claim(&folder.dir, name, || temp.link(name)).map_err(failed)? {
            ClaimOutcome::Taken => Ok(None),
            ClaimOutcome::Made => {
                let stat = temp.stat().map_err(failed)?;
                let after = content.state(stat.permissions);
                io.record_change(VaultChange::FileCreated { path: path.to_string(), after });
                folder::sync(&folder.dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
                let mtime_ms = Some(stat.mtime_ms());
                Ok(Some(WrittenFile { path, etag: after.etag(), mtime_ms, created: true }))
            }
        }
    }

    /// Returns the error for a taken name.
    fn occupied(&self, path: &VaultPath) -> Fault {
        let located = match self.locate(path, FinalLink::Keep) {
            Ok(Location::Found(located)) => located,
            Ok(Location::Missing(missing_path)) => {
                return self
                    .refuse_collision(&missing_path)
                    .err()
                    .unwrap_or_else(|| fault::unstable_path(path.as_str()));
            }
            Err(fault) => return fault,
        };
        let (what, can_be_replaced) = match located.kind() {
            NodeKind::Folder => ("a folder", false),
            NodeKind::File => ("a file", true),
            NodeKind::Link => match self.locate(path, FinalLink::Follow) {
                // A link out of the vault is worse than a conflict, and is reported.
                Err(fault) if fault.failure == Failure::SandboxViolation => return fault,
                Ok(Location::Found(target)) => ("a link", target.kind() == NodeKind::File),
                Ok(Location::Missing(_)) | Err(_) => ("a link that leads to no file", false),
            },
            NodeKind::Other => ("a pipe, a socket or a device", false),
        };
        Fault::new(Failure::Conflict, format!("`{}` already exists ({what})", located.path))
            .detail("existing", located.path.as_str())
            .hint(if can_be_replaced {
                "choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""
            } else {
                "choose another path, or set collisionStrategy to \"create-unique\""
            })
    }
}

/// Returns the missing path, with its existing part as spelled on disk.
fn path_on_disk(missing_path: &MissingPath, asked: &VaultPath) -> Result<VaultPath, Fault> {
    Ok(paths_of(missing_path)?.pop().unwrap_or_else(|| asked.clone()))
}

pub(super) fn spelled_in(folder: Option<&VaultPath>, name: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse_escaped(&child(folder, name))
        .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

pub(super) fn no_free_name(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` and every numbered name after it exist"))
        .hint("choose another name")
}
