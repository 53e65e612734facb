//! What root can do beyond others, taken away for good.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// After this, no program that is started has more rights than an ordinary one of the same user.
pub(super) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    for capability in CapabilitySet::all().iter() {
        // Only root may do this, and only root needs it; a kernel may not know the newest ones.
        let _not_ours = remove_capability_from_bounding_set(capability);
    }
    let _older_kernel = clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
