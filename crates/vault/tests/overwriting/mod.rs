//! Overwriting as the tools do it, for tests of the file layer that need no tool.

use envelope::{Failure, Fault, VaultPath};
use vault::{Content, Prepared, Seen, Step, Vault, Written};

use crate::support::Listener;

/// A file written whole, as a call does it that is told to overwrite; tried again while the file changes.
pub(crate) fn overwrite(
    vault: &Vault,
    path: &VaultPath,
    bytes: &[u8],
    listener: &Listener,
) -> Result<Written, Fault> {
    for _ in 0..16 {
        let survey = vault.survey(path, listener)?;
        let content = Content::of(bytes);
        let step = match survey.seen {
            Seen::File { state, .. } => {
                Step::ReplaceFile { path: survey.path, before: state, content, mode: None }
            }
            Seen::Nothing => Step::CreateFile { path: survey.path, content, mode: None },
            // What cannot be read cannot be overwritten; if it can by now, it is looked at again.
            Seen::Folder | Seen::Other => {
                vault.load(&survey.path, listener)?;
                continue;
            }
        };
        match vault.apply(&Prepared { steps: vec![step] }, listener) {
            // Changed, gone or there since it was looked at; a twin would still be one at the next look.
            Err(fault) if fault.failure == Failure::Conflict && !is_twin(&fault, path) => {}
            done => return done.map(Option::unwrap),
        }
    }
    Err(Fault::new(Failure::Conflict, format!("`{path}` keeps changing")))
}

fn is_twin(fault: &Fault, path: &VaultPath) -> bool {
    let existing = fault.details.as_ref().and_then(|details| details.get("existing"));
    existing.is_some_and(|existing| existing != path.as_str())
}
