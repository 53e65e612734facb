//! Creates folders, durably and without name collisions.

use std::sync::Arc;

use envelope::{Failure, Fault, VaultChange, VaultPath};
use rustix::io::Errno;

use super::fault;
use super::folder::{self, NodeKind};
use super::io_context::IoContext;
use super::locate::{FinalLink, Location, MissingPath, OpenFolder, child};
use super::name_collisions::{ClaimOutcome, colliding_name};
use super::vault::Vault;

/// A folder that exists, and what was created for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnsuredFolder {
    /// As it is spelled on disk.
    pub path: VaultPath,
    /// Created folders, outermost first; empty if the folder existed.
    pub created: Vec<VaultPath>,
}

impl Vault {
    /// Creates a folder and the folders above it, unless they exist.
    pub fn ensure_folder(&self, path: &VaultPath, io: &dyn IoContext) -> Result<EnsuredFolder, Fault> {
        self.files.ensure_folder(self, path, io)
    }

    /// Returns the path and the missing folders that [`Vault::ensure_folder`] would create, outermost first.
    pub fn would_make_folder(&self, path: &VaultPath, io: &dyn IoContext) -> Result<EnsuredFolder, Fault> {
        self.files.would_make_folder(self, path, io)
    }

    pub(super) fn would_make_folder_on_disk(&self, path: &VaultPath) -> Result<EnsuredFolder, Fault> {
        match self.locate(path, FinalLink::Follow)? {
            Location::Found(located) => is_folder(located.kind(), path, not_a_folder)
                .map(|()| EnsuredFolder { path: located.path, created: Vec::new() }),
            Location::Missing(missing_path) => {
                self.refuse_collision(&missing_path)?;
                let created = paths_of(&missing_path)?;
                Ok(EnsuredFolder { path: created.last().unwrap_or(path).clone(), created })
            }
        }
    }

    /// Opens a folder, or creates it with this mode. Fails with `occupied` if a file is at the path.
    pub(super) fn open_or_make(
        &self,
        path: &VaultPath,
        mode: Option<u32>,
        io: &dyn IoContext,
        occupied: fn(&str) -> Fault,
    ) -> Result<(OpenFolder, EnsuredFolder), Fault> {
        match self.locate(path, FinalLink::Follow)? {
            Location::Found(located) => {
                is_folder(located.kind(), path, occupied)?;
                let dir = folder::open_folder(&located.dir, &located.name)
                    .map_err(|error| fault::from_errno("open", path.as_str(), error))?;
                let made = EnsuredFolder { path: located.path.clone(), created: Vec::new() };
                Ok((OpenFolder { dir: Arc::new(dir), path: Some(located.path) }, made))
            }
            Location::Missing(missing_path) => self.create_missing(&missing_path, path, mode, io),
        }
    }

    fn create_missing(
        &self,
        missing_path: &MissingPath,
        path: &VaultPath,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<(OpenFolder, EnsuredFolder), Fault> {
        let mut dir = missing_path.dir.clone();
        let mut made = EnsuredFolder { path: path.clone(), created: Vec::new() };
        let last = missing_path.missing.len().saturating_sub(1);
        for (at, (name, path)) in missing_path.missing.iter().zip(paths_of(missing_path)?).enumerate() {
            // Missing parent folders get the default permissions.
            let mode = mode.filter(|_| at == last);
            io.check_cancelled()?;
            let failed = |error| fault::from_errno("create the folder", path.as_str(), error);
            match self
                .name_collisions
                .claim(&dir, name, || folder::make_folder(&dir, name, mode))
                .map_err(failed)?
            {
                ClaimOutcome::Made => {
                    io.record_change(VaultChange::FolderCreated { path: path.to_string(), mode });
                    folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
                    made.created.push(path.clone());
                }
                ClaimOutcome::Taken => match colliding_name(&dir, name).map_err(failed)? {
                    Some(existing) if existing != *name => {
                        let folder = path.parent();
                        return Err(fault::name_collision(path.as_str(), &child(folder.as_ref(), &existing)));
                    }
                    // Another program created it meanwhile.
                    Some(_) | None => {}
                },
            }
            dir = match folder::open_folder(&dir, name) {
                Ok(opened) => Arc::new(opened),
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(not_a_folder(path.as_str())),
                Err(error) => return Err(failed(error)),
            };
            made.path = path;
        }
        Ok((OpenFolder { dir, path: Some(made.path.clone()) }, made))
    }
}

impl Vault {
    /// Fails if the first missing name collides with an existing name.
    pub(super) fn refuse_collision(&self, missing_path: &MissingPath) -> Result<(), Fault> {
        let path = missing_path.first_path();
        let name = missing_path.missing.first().map(String::as_str).unwrap_or_default();
        let failed = |error| fault::from_errno("list the folder of", &path, error);
        // The cache of names is asked first: a large folder is not read for each new note.
        if !self.name_collisions.exists(&missing_path.dir, name).map_err(failed)? {
            return Ok(());
        }
        match colliding_name(&missing_path.dir, name).map_err(failed)? {
            Some(existing) if existing != name => {
                Err(fault::name_collision(&path, &child(missing_path.folder.as_ref(), &existing)))
            }
            // The exact name was created since: the next operation on it reports that if it matters.
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the paths of the missing names, outermost first.
pub(super) fn paths_of(missing_path: &MissingPath) -> Result<Vec<VaultPath>, Fault> {
    let mut paths: Vec<VaultPath> = Vec::with_capacity(missing_path.missing.len());
    for name in &missing_path.missing {
        let path = VaultPath::parse_escaped(&child(paths.last().or(missing_path.folder.as_ref()), name))
            .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))?;
        paths.push(path);
    }
    Ok(paths)
}

fn is_folder(kind: NodeKind, path: &VaultPath, occupied: fn(&str) -> Fault) -> Result<(), Fault> {
    if kind == NodeKind::Folder { Ok(()) } else { Err(occupied(path.as_str())) }
}

pub(super) fn not_a_folder(path: &str) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` exists and is a file, not a folder"))
        .hint("choose another name for the folder")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::folder::open_ambient;
    use super::super::locate::MissingPath;
    use super::super::vault::Vault;

    #[test]
    fn a_name_that_appeared_since_it_was_looked_for_is_not_its_own_twin() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("Attachments")).unwrap();
        let missing_path = |name: &str| MissingPath {
            dir: Arc::new(open_ambient(temp.path()).unwrap()),
            folder: None,
            missing: vec![name.to_owned()],
        };
        let vault = Vault::open(temp.path()).unwrap();
        assert!(vault.refuse_collision(&missing_path("Attachments")).is_ok());
        assert!(vault.refuse_collision(&missing_path("attachments")).is_err());
    }
}
