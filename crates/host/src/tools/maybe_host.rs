//! The host of a tool, if one is there.
//!
//! The tools exist without a host too: they can be listed and plans can be checked against them. The gate
//! blocks their calls then; this is the second lock.

use std::sync::Arc;

use envelope::{Failure, Fault};

use crate::host::Host;

#[derive(Clone)]
pub(crate) struct MaybeHost(pub(crate) Option<Arc<dyn Host>>);

impl MaybeHost {
    pub(super) fn get(&self) -> Result<Arc<dyn Host>, Fault> {
        self.0.clone().ok_or_else(|| {
            Fault::new(Failure::SetupRequired, "no host has the vault open")
                .hint("name the folder of your notes with `--vault DIR`")
        })
    }
}
