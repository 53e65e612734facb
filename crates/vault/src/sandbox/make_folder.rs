//! Making folders, durably and without twins.

use std::sync::Arc;

use envelope::{Change, Failure, Fault, VaultPath};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::locate::{Found, Gap, LastLink, OpenFolder, child};
use super::step::Step;
use super::survey::Seen;
use super::twins::{Claim, twin_of};
use super::vault::Vault;

/// How a folder came to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFolder {
    /// As it is spelled on disk.
    pub path: VaultPath,
    /// The folders that were missing, outermost first; empty when the folder was there.
    pub created: Vec<VaultPath>,
}

impl Vault {
    /// Makes sure that a folder is there, with the folders above it.
    pub fn ensure_folder(&self, path: &VaultPath, witness: &dyn Witness) -> Result<MadeFolder, Fault> {
        if let Some(layer) = &self.layer {
            let made = self.would_make_folder(path, witness)?;
            layer.apply(self, &Step::making_folder(path.clone()), witness)?;
            return Ok(made);
        }
        let (_, made) = self.open_or_make(path, None, witness, in_the_way)?;
        Ok(made)
    }

    /// The folders that [`Vault::ensure_folder`] would make, outermost first, and the folder as it is spelled.
    pub fn would_make_folder(&self, path: &VaultPath, witness: &dyn Witness) -> Result<MadeFolder, Fault> {
        if self.layer.is_some() {
            let survey = self.survey(path, witness)?;
            return match survey.seen {
                Seen::Folder => Ok(MadeFolder { path: survey.path, created: Vec::new() }),
                Seen::File { .. } | Seen::Other => Err(in_the_way(path.as_str())),
                Seen::Nothing => {
                    let spelled = self.would_create(path, witness)?;
                    let created = survey.missing.into_iter().chain([spelled.clone()]).collect();
                    Ok(MadeFolder { path: spelled, created })
                }
            };
        }
        match self.locate(path, LastLink::Follow)? {
            Found::Place(place) => is_folder(place.kind(), path, in_the_way)
                .map(|()| MadeFolder { path: place.path, created: Vec::new() }),
            Found::Nothing(gap) => {
                refuse_twin(&gap)?;
                let created = paths_of(&gap)?;
                Ok(MadeFolder { path: created.last().unwrap_or(path).clone(), created })
            }
        }
    }

    /// The folder, held open; made first if it is missing, with this mode. A file in its place is what `occupied`
    /// says.
    pub(super) fn open_or_make(
        &self,
        path: &VaultPath,
        mode: Option<u32>,
        witness: &dyn Witness,
        occupied: fn(&str) -> Fault,
    ) -> Result<(OpenFolder, MadeFolder), Fault> {
        match self.locate(path, LastLink::Follow)? {
            Found::Place(place) => {
                is_folder(place.kind(), path, occupied)?;
                let dir = folder::open_folder(&place.dir, &place.name)
                    .map_err(|error| fault::from_errno("open", path.as_str(), error))?;
                let made = MadeFolder { path: place.path.clone(), created: Vec::new() };
                Ok((OpenFolder { dir: Arc::new(dir), path: Some(place.path) }, made))
            }
            Found::Nothing(gap) => self.fill(&gap, path, mode, witness),
        }
    }

    fn fill(
        &self,
        gap: &Gap,
        path: &VaultPath,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<(OpenFolder, MadeFolder), Fault> {
        let mut dir = gap.dir.clone();
        let mut made = MadeFolder { path: path.clone(), created: Vec::new() };
        let last = gap.missing.len().saturating_sub(1);
        for (at, (name, path)) in gap.missing.iter().zip(paths_of(gap)?).enumerate() {
            // Folders above it that are missing too are nobody's business but the system's.
            let mode = mode.filter(|_| at == last);
            witness.may_go_on()?;
            let failed = |error| fault::from_errno("create the folder", path.as_str(), error);
            match self.twins.claim(&dir, name, || folder::make_folder(&dir, name, mode)).map_err(failed)? {
                Claim::Made => {
                    witness.saw(Change::FolderCreated { path: path.to_string(), mode });
                    folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
                    made.created.push(path.clone());
                }
                Claim::Taken => match twin_of(&dir, name).map_err(failed)? {
                    Some(existing) if existing != *name => {
                        let folder = path.parent();
                        return Err(fault::twin(path.as_str(), &child(folder.as_ref(), &existing)));
                    }
                    // Somebody else made it meanwhile, which is just as good.
                    Some(_) | None => {}
                },
            }
            dir = match folder::open_folder(&dir, name) {
                Ok(opened) => Arc::new(opened),
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(in_the_way(path.as_str())),
                Err(error) => return Err(failed(error)),
            };
            made.path = path;
        }
        Ok((OpenFolder { dir, path: Some(made.path.clone()) }, made))
    }
}

/// That the first missing name has no twin in the folder that is there.
pub(super) fn refuse_twin(gap: &Gap) -> Result<(), Fault> {
    let path = gap.first_path();
    let name = gap.missing.first().map(String::as_str).unwrap_or_default();
    match twin_of(&gap.dir, name).map_err(|error| fault::from_errno("list the folder of", &path, error))? {
        Some(existing) if existing != name => Err(fault::twin(&path, &child(gap.folder.as_ref(), &existing))),
        // The very name was made since it was looked for: whoever makes it next finds out whether that is in the way.
        Some(_) | None => Ok(()),
    }
}

/// The paths of the missing names, outermost first.
pub(super) fn paths_of(gap: &Gap) -> Result<Vec<VaultPath>, Fault> {
    let mut paths: Vec<VaultPath> = Vec::with_capacity(gap.missing.len());
    for name in &gap.missing {
        let path = VaultPath::parse(&child(paths.last().or(gap.folder.as_ref()), name))
            .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))?;
        paths.push(path);
    }
    Ok(paths)
}

fn is_folder(kind: Kind, path: &VaultPath, occupied: fn(&str) -> Fault) -> Result<(), Fault> {
    if kind == Kind::Folder { Ok(()) } else { Err(occupied(path.as_str())) }
}

pub(super) fn in_the_way(path: &str) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` exists and is a file, not a folder"))
        .hint("choose another name for the folder")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::folder::open_ambient;
    use super::super::locate::Gap;
    use super::refuse_twin;

    #[test]
    fn a_name_that_appeared_since_it_was_looked_for_is_not_its_own_twin() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("Attachments")).unwrap();
        let gap = |name: &str| Gap {
            dir: Arc::new(open_ambient(temp.path()).unwrap()),
            folder: None,
            missing: vec![name.to_owned()],
        };
        assert!(refuse_twin(&gap("Attachments")).is_ok());
        assert!(refuse_twin(&gap("attachments")).is_err());
    }
}
