//! Which walls stand on this system: each is built once, and tried.

use std::path::Path;

use super::Walls;

/// Builds each wall once and looks whether it holds.
pub fn probe(_launcher: &Path) -> Walls {
    let none = || Err("it is not supported".to_owned());
    Walls { bubblewrap: none(), landlock: none(), seccomp: none() }
}
