//! The vault of a tool, if one is open.
//!
//! The tools exist without a vault too: they can be listed and plans can be checked against them. The gate
//! blocks their calls then; this is the second lock.

use std::sync::Arc;

use envelope::{Failure, Fault};

use crate::sandbox::Vault;

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
