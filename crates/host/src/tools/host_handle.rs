//! The host of a tool, if there is one.
//!
//! The tools exist without a host too: they can be listed, and plans can be checked against them. The engine
//! then blocks their calls; this type checks it again.

use envelope::{Failure, Fault};

use crate::slot::HostSlot;

#[derive(Clone)]
pub(crate) struct HostHandle(pub(crate) Option<HostSlot>);

impl HostHandle {
    /// Returns the host. Fails with `setup_required` without one.
    pub(super) fn get(&self) -> Result<&HostSlot, Fault> {
        self.0.as_ref().ok_or_else(|| {
            Fault::new(Failure::SetupRequired, "no vault is open")
                .hint("name the folder of your notes with `--vault DIR`")
        })
    }
}
