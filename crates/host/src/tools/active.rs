//! The note that a call is about when its arguments name none: the active one.
//!
//! Looked up before anyone is asked, so that rules about paths hold for it, and compared when it is the
//! call's turn: whoever permitted one note did not permit another.

use std::sync::{Mutex, PoisonError};

use envelope::{Failure, Fault, VaultPath};
use toolkit::{PathKeys, Reach, ToolCx};

use crate::host::Host;

#[derive(Debug, Default)]
pub(super) struct ActiveNote(Mutex<Option<VaultPath>>);

impl ActiveNote {
    pub(super) async fn look(&self, host: &dyn Host, cx: &ToolCx) -> Result<(), Fault> {
        let active = host.context(cx).await?.active.and_then(|view| view.path);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = active;
        Ok(())
    }

    fn get(&self) -> Option<VaultPath> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything, as long as nobody can say what will be open then.
    pub(super) fn reads(&self) -> PathKeys {
        let reach = self.get().map_or(Reach::Vault, Reach::File);
        PathKeys { reads: vec![reach], writes: Vec::new() }
    }

    pub(super) fn shown(&self) -> String {
        self.get().map_or_else(|| "the active note".to_owned(), |path| path.to_string())
    }

    /// That the note is the one that was looked up.
    pub(super) fn expect(&self, path: &VaultPath) -> Result<(), Fault> {
        match self.get() {
            Some(permitted) if permitted != *path => Err(Fault::new(
                Failure::Conflict,
                format!("`{path}` is active now; when the call was permitted, `{permitted}` was"),
            )
            .hint("call again: what is open will be looked up anew")
            .retryable(true)),
            Some(_) | None => Ok(()),
        }
    }
}
