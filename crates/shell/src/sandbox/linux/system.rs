//! The folders of the system that every command may read: programs, libraries, settings.
//!
//! What is absent on purpose: the person's home, `/run` with its sockets, `/var`, `/mnt`. A policy can name
//! folders there as readable.

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

/// Where programs keep the settings of the system, and a few of them its secrets.
pub(super) const SETTINGS: &str = "/etc";

/// How deep secrets are looked for: `/etc/NetworkManager/system-connections/home` is the deepest usual place.
const DEPTH: usize = 3;

/// The folders by their real paths: `/bin` is often a link to `/usr/bin`, and what is closed there is closed here.
pub(super) fn real_folders() -> BTreeSet<PathBuf> {
    FOLDERS.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

/// What lies in the settings and is closed to other users of the system.
///
/// For a common user the permissions of the files see to it. A command of root's would read the hashes of
/// passwords and the keys of the host, so what other users may not read it may not read either.
pub(super) fn secrets() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if rustix::process::geteuid().is_root() {
        look_for_secrets(Path::new(SETTINGS), DEPTH, &mut found);
        found.sort();
    }
    found
}

fn look_for_secrets(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let others = about.permissions().mode() & 0o007;
        if (about.is_file() && others & 0o4 == 0) || (about.is_dir() && others & 0o5 != 0o5) {
            found.push(entry.path());
        } else if about.is_dir() && depth > 1 {
            look_for_secrets(&entry.path(), depth - 1, found);
        }
    }
}

/// The largest parts of a folder that hold none of the secrets.
pub(super) fn parts_without(folder: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    if !secrets.iter().any(|secret| secret.starts_with(folder)) {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .filter(|entry| !entry.is_symlink() && !secrets.contains(entry))
        .flat_map(|entry| parts_without(&entry, secrets))
        .collect()
}

/// The file that tells how names of hosts are looked up, where it lies outside the settings.
pub(super) fn resolver() -> Option<PathBuf> {
    let target = fs::canonicalize("/etc/resolv.conf").ok()?;
    (!FOLDERS.iter().any(|folder| target.starts_with(folder))).then_some(target)
}
