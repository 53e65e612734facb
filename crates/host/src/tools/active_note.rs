//! The note that a call is about when its arguments name none: the active one.
//!
//! Looked up before permission is decided, so that rules about paths hold for it, and compared at the call's
//! turn: a permission for one note does not cover another.

use envelope::{Failure, Fault, VaultPath};
use toolkit::{PathKeys, PathScope, ToolCx};

use crate::slot::HostSlot;

/// The active note as it was looked up.
#[derive(Debug, Default)]
pub(crate) struct ActiveNote(Option<VaultPath>);

impl ActiveNote {
    /// Looks up the active note.
    pub(super) async fn look_up(&mut self, host: &HostSlot, cx: &ToolCx) -> Result<(), Fault> {
        self.0 = host.context(cx).await?.active.and_then(|view| view.path);
        Ok(())
    }

    /// Returns what the call reads: the note, or the whole vault if none was looked up.
    pub(super) fn read_paths(&self) -> PathKeys {
        let scope = self.0.clone().map_or(PathScope::Vault, PathScope::File);
        PathKeys { reads: vec![scope], writes: Vec::new() }
    }

    /// Returns the note for a message.
    pub(super) fn label(&self) -> String {
        self.0.as_ref().map_or_else(|| "the active note".to_owned(), ToString::to_string)
    }

    /// Fails with a conflict if the note is not the one that was looked up.
    pub(super) fn expect(&self, path: &VaultPath) -> Result<(), Fault> {
        match &self.0 {
            Some(permitted) if permitted != path => Err(Fault::new(
                Failure::Conflict,
                format!("`{path}` is active now; when the call was permitted, `{permitted}` was"),
            )
            .hint("call again: what is open will be looked up anew")
            .retryable(true)),
            Some(_) | None => Ok(()),
        }
    }
}
