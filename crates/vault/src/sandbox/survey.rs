//! What is at a path and what is missing above it: how an effect is told from its absence after a crash.

use envelope::{Failure, Fault, FileState, VaultPath};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::locate::{Found, LastLink};
use super::make_folder::paths_of;
use super::read::open_place;
use super::relocate::TRASH;
use super::state::state_of;
use super::step::Content;
use super::vault::Vault;

/// What is at a path right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Nothing,
    Folder,
    File {
        state: FileState,
        mtime_ms: i64,
    },
    /// A pipe, a device, or a link that leads to nothing.
    Other,
}

/// A path as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The folders above it that are missing, outermost first.
    pub missing: Vec<VaultPath>,
    /// As it is spelled on disk, links resolved; as it would be, where nothing is there.
    pub path: VaultPath,
    pub seen: Seen,
}

impl Vault {
    /// What is at `path`, as far as a caller can act on it.
    pub fn look(&self, path: &VaultPath, witness: &dyn Witness) -> Result<Seen, Fault> {
        self.survey(path, witness).map(|survey| survey.seen)
    }

    /// [`Vault::look`], with where that really is. The content is hashed however large it is.
    pub fn survey(&self, path: &VaultPath, witness: &dyn Witness) -> Result<Survey, Fault> {
        match &self.layer {
            Some(layer) => {
                Vault::refuse_protected(path)?;
                layer.survey(self, path, witness)
            }
            None => self.survey_as_it_stands(path, witness),
        }
    }

    /// What is on disk, or on the screen of a host where that is ahead of the disk.
    pub(super) fn survey_as_it_stands(
        &self,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<Survey, Fault> {
        let mut survey = self.survey_on_disk(path, witness)?;
        let unsaved = self.host.get().and_then(|host| host.unsaved(&survey.path));
        // What a person has on the screen is what is there.
        if let (Some(text), Seen::File { state, .. }) = (unsaved, &mut survey.seen) {
            *state = Content::of(text.into_bytes()).state(state.mode);
        }
        Ok(survey)
    }

    /// What has this very name, links not followed; also in the trash. A link is something other.
    pub(crate) fn survey_entry(&self, path: &VaultPath, witness: &dyn Witness) -> Result<Seen, Fault> {
        match &self.layer {
            Some(layer) => layer.survey_entry(self, path, witness),
            None => self.survey_entry_on_disk(path, witness),
        }
    }

    pub(super) fn survey_entry_on_disk(
        &self,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<Seen, Fault> {
        // The trash itself is made and removed by steps, but is no place that a path may name.
        if path.as_str() == TRASH {
            return Ok(match folder::stat(&self.root, TRASH).map(|stat| folder::kind(&stat)) {
                Ok(Kind::Folder) => Seen::Folder,
                Ok(Kind::File | Kind::Link | Kind::Other) => Seen::Other,
                Err(Errno::NOENT) => Seen::Nothing,
                Err(error) => return Err(fault::from_errno("look up", TRASH, error)),
            });
        }
        let Some(place) = self.entry_at(path)? else { return Ok(Seen::Nothing) };
        match place.kind() {
            Kind::Folder => Ok(Seen::Folder),
            Kind::Link | Kind::Other => Ok(Seen::Other),
            Kind::File => match open_place(place)? {
                Some(open) => {
                    let mtime_ms = folder::mtime_ms(&open.stat);
                    Ok(Seen::File { state: state_of(&open, witness)?, mtime_ms })
                }
                None => Ok(Seen::Other),
            },
        }
    }

    pub(super) fn survey_on_disk(&self, path: &VaultPath, witness: &dyn Witness) -> Result<Survey, Fault> {
        let here = |path: VaultPath, seen| Survey { missing: Vec::new(), path, seen };
        let place = match self.locate(path, LastLink::Follow) {
            Ok(Found::Place(place)) => place,
            Ok(Found::Nothing(gap)) => {
                let mut missing = paths_of(&gap)?;
                let path = missing.pop().unwrap_or_else(|| path.clone());
                return Ok(Survey { missing, path, seen: Seen::Nothing });
            }
            // A link that leads to nothing.
            Err(fault) if fault.failure == Failure::NotFound => return Ok(here(path.clone(), Seen::Other)),
            Err(fault) => return Err(fault),
        };
        match place.kind() {
            Kind::Folder => Ok(here(place.path, Seen::Folder)),
            Kind::File => {
                let open = self.open_file(path)?;
                let mtime_ms = folder::mtime_ms(&open.stat);
                let state = state_of(&open, witness)?;
                Ok(here(open.path, Seen::File { state, mtime_ms }))
            }
            Kind::Link | Kind::Other => Ok(here(place.path, Seen::Other)),
        }
    }
}
