//! Arguments of bubblewrap, which gives a command its own file tree, PID namespace and network namespace. They hold
//! nothing but what is listed here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::top_level::TopLevelEntries;
use super::{LaunchSpec, SandboxProfile, system_folders};
use crate::sandbox::CommandWorkdir;

/// Path of the launcher inside the sandbox. The vault can be anywhere, so no vault would have this name.
pub(super) const LAUNCHER: &str = "/.tollgate-launcher";

/// A tmpfs that only the command sees.
pub(super) const TEMPORARY: &str = "/tmp";
pub(super) const HOME: &str = "/tmp/home";

/// Fixed paths. A path from the environment could lead to another program.
const PROGRAMS: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Path of bubblewrap.
pub(super) fn program() -> Option<&'static Path> {
    PROGRAMS.iter().map(Path::new).find(|path| path.is_file())
}

/// Returns the arguments before `--`.
///
/// Later mounts cover earlier ones, so the order is: system folders, private folders, readable and writable folders, the vault, and
/// last the protected entries in it.
pub(super) fn arguments(
    profile: &SandboxProfile,
    top: &TopLevelEntries,
    launch: &LaunchSpec,
    launcher: &Path,
) -> Vec<OsString> {
    let mut words = ArgumentList::default();
    for flag in ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    {
        words.add([flag]);
    }
    if !profile.network {
        words.add(["--unshare-net"]);
    }
    words.add(["--die-with-parent"]);
    words.add(["--cap-drop", "ALL"]);
    mount_system(&mut words, profile);
    for (temporary, size) in
        [("/dev/shm", profile.limits.memory_bytes), (TEMPORARY, profile.limits.memory_bytes)]
    {
        words.add(["--size", size.to_string().as_str(), "--tmpfs", temporary]);
    }
    words.add(["--remount-ro", "/dev", "--dir", HOME]);
    for folder in &profile.readable {
        words.mount("--ro-bind-try", folder);
    }
    for folder in &profile.writable {
        words.mount("--bind-try", folder);
    }
    mount_vault(&mut words, profile, top);
    for program in profile.exec.denied.iter().filter(|program| is_visible(program, profile)) {
        words.cover(program);
    }
    words.pair("--ro-bind", launcher, Path::new(LAUNCHER));
    words.add(["--remount-ro", "/", "--chdir"]);
    words.0.push(match &launch.workdir {
        CommandWorkdir::Vault(folder) => folder.into(),
        CommandWorkdir::Private => HOME.into(),
    });
    words.0
}

/// Whether the command sees a file of the system at all.
fn is_visible(file: &Path, profile: &SandboxProfile) -> bool {
    let mut folders =
        system_folders::FOLDERS.iter().map(Path::new).chain(profile.readable.iter().map(PathBuf::as_path));
    folders.any(|folder| file.starts_with(folder))
}

fn mount_system(words: &mut ArgumentList, profile: &SandboxProfile) {
    for folder in system_folders::FOLDERS.iter().map(Path::new) {
        match fs::read_link(folder) {
            // `/bin` is often a link to `usr/bin`.
            Ok(target) => words.pair("--symlink", &target, folder),
            Err(_) => words.mount("--ro-bind-try", folder),
        }
    }
    for secret in system_folders::secret_paths() {
        words.cover(&secret);
    }
    if let Some(resolver) = system_folders::resolver().filter(|_| profile.network) {
        words.mount("--ro-bind-try", &resolver);
    }
    words.add(["--proc", "/proc", "--dev", "/dev"]);
}

fn mount_vault(words: &mut ArgumentList, profile: &SandboxProfile, top: &TopLevelEntries) {
    if top.has_protected_link {
        words.mount("--ro-bind", &profile.root);
        for entry in &top.open {
            words.mount("--bind", entry);
        }
    } else {
        words.mount("--bind", &profile.root);
    }
    // A folder with a mount on it cannot be moved or removed. So each folder above a protected entry is mounted on
    // itself: otherwise it could be moved away with the entry in it, and replaced.
    for folder in top.nested.parents() {
        words.mount("--bind", folder);
    }
    for entry in top.kept.iter().map(PathBuf::as_path).chain(top.nested.holdable()) {
        words.mount("--ro-bind", entry);
    }
    for entry in &top.hidden {
        words.cover(entry);
    }
}

#[derive(Default)]
struct ArgumentList(Vec<OsString>);

impl ArgumentList {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn pair(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }

    fn mount(&mut self, how: &str, path: &Path) {
        self.pair(how, path, path);
    }

    /// Mounts something empty over a file or a folder.
    fn cover(&mut self, path: &PathBuf) {
        if path.is_dir() {
            self.0.extend(["--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()]);
        } else {
            self.pair("--ro-bind", Path::new("/dev/null"), path);
        }
    }
}
