//! The state that a caller has seen and wants to change, and no other.

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::sandbox::{Baggage, Named, Seen, Vault, Witness};

/// An etag as an earlier call answered it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ExpectedEtag(#[schemars(regex(pattern = "^[0-9a-f]{32}$"))] String);

impl ExpectedEtag {
    pub(super) fn check(&self, path: &VaultPath, now: &FileState) -> Result<(), Fault> {
        let current = now.etag();
        if self.0 == current {
            return Ok(());
        }
        Err(Fault::new(Failure::Conflict, format!("`{path}` has changed: it is not what was read"))
            .detail("expectedEtag", self.0.as_str())
            .detail("currentEtag", current)
            .hint("read the file again, then decide on what it says now"))
    }

    /// For a tool that moves or removes what has this very name. Returns what is there.
    pub(super) fn check_entry(
        &self,
        vault: &Vault,
        named: &Named,
        witness: &dyn Witness,
    ) -> Result<FileState, Fault> {
        match vault.survey_entry(&named.path, witness)? {
            Seen::File { state, .. } => self.check(&named.path, &state).map(|()| state),
            Seen::Nothing => Err(self.missing(&named.path)),
            Seen::Folder | Seen::Other => {
                Err(Fault::new(Failure::InvalidArguments, format!("`{}` has no etag", named.path))
                    .hint("leave out expectedEtag: only files have one"))
            }
        }
    }

    /// What a move takes along: the file that the caller has seen, or whatever is there if it did not say.
    pub(super) fn baggage(
        expected: Option<&ExpectedEtag>,
        vault: &Vault,
        named: &Named,
        witness: &dyn Witness,
    ) -> Result<Baggage, Fault> {
        let before = match (expected, named.kind) {
            (Some(expected), _) => Some(expected.check_entry(vault, named, witness)?),
            (None, EntryKind::Folder) => None,
            (None, EntryKind::File) => match vault.survey_entry(&named.path, witness)? {
                Seen::File { state, .. } => Some(state),
                Seen::Nothing | Seen::Folder | Seen::Other => None,
            },
        };
        Ok(Baggage { before, exactly: expected.is_some(), kept: Vec::new() })
    }

    pub(super) fn missing(&self, path: &VaultPath) -> Fault {
        Fault::new(Failure::Conflict, format!("`{path}` is not there any more"))
            .detail("expectedEtag", self.0.as_str())
            .hint("leave out expectedEtag to create the file anew")
    }
}
