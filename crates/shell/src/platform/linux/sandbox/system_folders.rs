//! The folders of the system that every command can read: programs, libraries, settings.
//!
//! Deliberately omitted: the user's home, `/run` with its sockets, `/var`, `/mnt`. The settings can name folders
//! there as readable.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Not all of them exist on one system.
pub(super) const FOLDERS: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/run/current-system",
    SETTINGS,
];

/// Settings of the system, and some of its secrets.
pub(super) const SETTINGS: &str = "/etc";

/// Depth of the search for secrets: `/etc/NetworkManager/system-connections/home` is the deepest usual path.
const DEPTH: usize = 3;

/// Returns the folders by their real paths: `/bin` is often a link to `/usr/bin`, and a rule for one must hold for the
/// other.
pub(super) fn real_folders() -> BTreeSet<PathBuf> {
    FOLDERS.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

/// Returns entries of the settings that other users of the system cannot read.
///
/// For an ordinary user the permissions of the files prevent it. A command of root would read password hashes and host
/// keys, so it is denied what other users cannot read.
pub(super) fn secret_paths() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if rustix::process::geteuid().is_root() {
        find_secrets(Path::new(SETTINGS), DEPTH, &mut found);
        found.sort();
    }
    found
}

fn find_secrets(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let others = about.permissions().mode() & 0o007;
        if (about.is_file() && others & 0o4 == 0) || (about.is_dir() && others & 0o5 != 0o5) {
            found.push(entry.path());
        } else if about.is_dir() && depth > 1 {
            find_secrets(&entry.path(), depth - 1, found);
        }
    }
}

/// Returns the largest parts of a folder without any of the secrets.
pub(super) fn subtrees_without(folder: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    if !secrets.iter().any(|secret| secret.starts_with(folder)) {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .filter(|entry| !entry.is_symlink() && !secrets.contains(entry))
        .flat_map(|entry| subtrees_without(&entry, secrets))
        .collect()
}

/// Returns the file that configures name resolution, if it is outside of the settings.
pub(super) fn resolver() -> Option<PathBuf> {
    let target = fs::canonicalize("/etc/resolv.conf").ok()?;
    (!FOLDERS.iter().any(|folder| target.starts_with(folder))).then_some(target)
}
