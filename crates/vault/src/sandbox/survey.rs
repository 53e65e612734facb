//! What is at a path and what is missing above it: how an effect is told from its absence after a crash.

use envelope::{Failure, Fault, VaultPath};

use super::change::Witness;
use super::folder::{self, Kind};
use super::locate::{Found, LastLink};
use super::make_folder::paths_of;
use super::read::whole_etag;
use super::vault::Vault;

/// What is at a path right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Nothing,
    Folder,
    File {
        etag: String,
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
                let etag = whole_etag(&open, witness)?;
                Ok(here(open.path, Seen::File { etag, mtime_ms }))
            }
            Kind::Link | Kind::Other => Ok(here(place.path, Seen::Other)),
        }
    }
}
