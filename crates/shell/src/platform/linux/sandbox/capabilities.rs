//! Drops the capabilities of root.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// Drops all capabilities. Programs started afterwards have no more rights than ordinary programs of the user.
pub(super) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    for capability in CapabilitySet::all().iter() {
        // Only root is permitted to do this, and only root needs it. A kernel may not know the newest capabilities.
        let _not_ours = remove_capability_from_bounding_set(capability);
    }
    let _older_kernel = clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
