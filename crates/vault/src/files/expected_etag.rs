//! The state that a caller has seen: a change applies to it and to no other.

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file_layer::{IoContext, MoveDetails, NamedEntry, PathState, Vault};

/// An etag that an earlier call returned.
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
            .hint("read the file again before you change it"))
    }

    /// Checks an entry that a tool moves or removes; a link is not followed. Returns its state.
    pub(super) fn check_entry(
        &self,
        vault: &Vault,
        named: &NamedEntry,
        io: &dyn IoContext,
    ) -> Result<FileState, Fault> {
        match vault.entry_state(&named.path, io)? {
            PathState::File { state, .. } => self.check(&named.path, &state).map(|()| state),
            PathState::Missing => Err(self.missing(&named.path)),
            PathState::Folder | PathState::Other => {
                Err(Fault::new(Failure::InvalidArguments, format!("`{}` has no etag", named.path))
                    .hint("leave out expectedEtag: only files have one"))
            }
        }
    }

    /// Returns what a move has to check: the file that the caller has seen, or the current file if no etag was
    /// given.
    pub(super) fn details(
        expected: Option<&ExpectedEtag>,
        vault: &Vault,
        named: &NamedEntry,
        io: &dyn IoContext,
    ) -> Result<MoveDetails, Fault> {
        let before = match (expected, named.kind) {
            (Some(expected), _) => Some(expected.check_entry(vault, named, io)?),
            (None, EntryKind::Folder) => None,
            (None, EntryKind::File) => match vault.entry_state(&named.path, io)? {
                PathState::File { state, .. } => Some(state),
                PathState::Missing | PathState::Folder | PathState::Other => None,
            },
        };
        Ok(MoveDetails { before, must_match: expected.is_some(), backup: Vec::new() })
    }

    pub(super) fn missing(&self, path: &VaultPath) -> Fault {
        Fault::new(Failure::Conflict, format!("`{path}` no longer exists"))
            .detail("expectedEtag", self.0.as_str())
            .hint("leave out expectedEtag to create the file again")
    }
}
