//! Overwrites as the tools do, for tests of the file layer without a tool.

use envelope::{Failure, Fault, VaultPath};
use vault::{ChangeStep, FileContent, PathState, PreparedSteps, Vault, WrittenFile};

use crate::support::ChangeRecorder;

/// Writes a whole file as an overwriting call does; tries again while the file changes.
pub(crate) fn overwrite(
    vault: &Vault,
    path: &VaultPath,
    bytes: &[u8],
    recorder: &ChangeRecorder,
) -> Result<WrittenFile, Fault> {
    for _ in 0..16 {
        let survey = vault.resolve_path(path, recorder)?;
        let content = FileContent::of(bytes);
        let step = match survey.state {
            PathState::File { state, .. } => {
                ChangeStep::ReplaceFile { path: survey.path, before: state, content, mode: None }
            }
            PathState::Missing => ChangeStep::CreateFile { path: survey.path, content, mode: None },
            // An entry that cannot be read cannot be overwritten; if it can by now, its state is read again.
            PathState::Folder | PathState::Other => {
                vault.load(&survey.path, recorder)?;
                continue;
            }
        };
        match vault.apply(&PreparedSteps { steps: vec![step] }, recorder) {
            // Changed, removed or created since the check; a name collision would still be one.
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
