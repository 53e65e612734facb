//! The vault of a tool, if one is open.
//!
//! Without a vault the tools can still be listed, and plans checked against them. The engine blocks their calls
//! then; this type is the second check.

use std::sync::Arc;

use envelope::{Failure, Fault};

use crate::file_layer::Vault;

#[derive(Clone)]
pub(crate) struct MaybeVault(pub(crate) Option<Arc<Vault>>);

impl MaybeVault {
    pub(super) fn get(&self) -> Result<Arc<Vault>, Fault> {
        self.0.clone().ok_or_else(|| {
            Fault::new(Failure::SetupRequired, "no vault is open")
                .hint("name the folder of your notes with `--vault DIR`")
        })
    }
}
