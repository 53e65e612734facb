//! What is written down before an effect, and what can be shown from it after a crash.
//!
//! One entry for each folder that is missing, outermost first, then one for the path itself, all as they
//! are spelled on disk: enough to report, from what is there later, what a call would have reported.

use envelope::{Fault, Observed, VaultPath};

use crate::sandbox::{Change, Seen, Survey, Vault, Witness};

/// Stands for a folder where a file would have its etag.
const FOLDER: &str = "folder";
/// Stands for a pipe, a device or a dead link.
const OTHER: &str = "not-a-file";

pub(super) fn observed(survey: Survey) -> Vec<Observed> {
    let etag = match survey.seen {
        Seen::Nothing => None,
        Seen::File { etag, .. } => Some(etag),
        Seen::Folder => Some(FOLDER.to_owned()),
        Seen::Other => Some(OTHER.to_owned()),
    };
    let folders = survey.missing.iter().map(|path| Observed { path: path.to_string(), etag: None });
    folders.chain(std::iter::once(Observed { path: survey.path.to_string(), etag })).collect()
}

/// Whether there was something that is not a file.
pub(super) fn was_no_file(before: &Observed) -> bool {
    matches!(before.etag.as_deref(), Some(FOLDER | OTHER))
}

/// Tells the witness of each folder that was missing before and is there now.
///
/// A folder that two calls found missing is told by both: nobody can say afterwards which of them was first.
pub(super) fn report_folders(vault: &Vault, before: &[Observed], witness: &dyn Witness) -> Result<(), Fault> {
    for missing in before.iter().filter(|folder| folder.etag.is_none()) {
        let Ok(path) = VaultPath::parse(&missing.path) else {
            continue;
        };
        let now = vault.survey(&path, witness)?;
        if now.seen == Seen::Folder && now.path == path {
            witness.saw(Change::FolderCreated { path });
        }
    }
    Ok(())
}
