//! The first wall: a file tree, a process table and a network that hold nothing but what is named here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::top::Top;
use super::{Launch, Reach, system};
use crate::sandbox::Workdir;

/// Where the launcher stands inside. The vault can lie anywhere, so this is no name that a vault would have.
pub(super) const LAUNCHER: &str = "/.tollgate-launcher";

/// Gone with the command: it exists in memory, and only inside.
pub(super) const TEMPORARY: &str = "/tmp";
pub(super) const HOME: &str = "/tmp/home";

/// Fixed places. A path from the environment could lead to a program that only looks like it.
const PROGRAMS: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// The program that builds the wall.
pub(super) fn program() -> Option<&'static Path> {
    PROGRAMS.iter().map(Path::new).find(|path| path.is_file())
}

/// Everything before `--`: what the command finds inside.
///
/// Later mounts cover earlier ones, so the order is: the system, what is private, what may be read, the vault,
/// and last what is protected in it.
pub(super) fn arguments(reach: &Reach, top: &Top, launch: &Launch, launcher: &Path) -> Vec<OsString> {
    let mut words = Words::default();
    for flag in ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    {
        words.add([flag]);
    }
    if !reach.network {
        words.add(["--unshare-net"]);
    }
    words.add(["--die-with-parent"]);
    words.add(["--cap-drop", "ALL"]);
    the_system(&mut words, reach);
    for (temporary, size) in [("/dev/shm", reach.limits.memory_bytes), (TEMPORARY, reach.limits.memory_bytes)]
    {
        words.add(["--size", size.to_string().as_str(), "--tmpfs", temporary]);
    }
    words.add(["--remount-ro", "/dev", "--dir", HOME]);
    for folder in &reach.readable {
        words.mount("--ro-bind-try", folder);
    }
    the_vault(&mut words, reach, top);
    for program in reach.exec.denied.iter().filter(|program| is_visible(program, reach)) {
        words.cover(program);
    }
    words.pair("--ro-bind", launcher, Path::new(LAUNCHER));
    words.add(["--remount-ro", "/", "--chdir"]);
    words.0.push(match &launch.workdir {
        Workdir::Vault(folder) => folder.into(),
        Workdir::Private => HOME.into(),
    });
    words.0
}

/// Whether a file of the system is there for the command at all.
fn is_visible(file: &Path, reach: &Reach) -> bool {
    let mut folders =
        system::FOLDERS.iter().map(Path::new).chain(reach.readable.iter().map(PathBuf::as_path));
    folders.any(|folder| file.starts_with(folder))
}

fn the_system(words: &mut Words, reach: &Reach) {
    for folder in system::FOLDERS.iter().map(Path::new) {
        match fs::read_link(folder) {
            // `/bin` is often a link to `usr/bin`.
            Ok(target) => words.pair("--symlink", &target, folder),
            Err(_) => words.mount("--ro-bind-try", folder),
        }
    }
    for secret in system::secrets() {
        words.cover(&secret);
    }
    if let Some(resolver) = system::resolver().filter(|_| reach.network) {
        words.mount("--ro-bind-try", &resolver);
    }
    words.add(["--proc", "/proc", "--dev", "/dev"]);
}

fn the_vault(words: &mut Words, reach: &Reach, top: &Top) {
    if top.has_protected_link {
        words.mount("--ro-bind", &reach.root);
        for entry in &top.open {
            words.mount("--bind", entry);
        }
    } else {
        words.mount("--bind", &reach.root);
    }
    // A folder on which something is mounted cannot be moved or removed. So each folder above a protected entry gets
    // a mount of itself: otherwise it could be moved away with the entry in it, and another one put in its place.
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
struct Words(Vec<OsString>);

impl Words {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn pair(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }

    fn mount(&mut self, how: &str, path: &Path) {
        self.pair(how, path, path);
    }

    /// Puts something empty over a file or a folder.
    fn cover(&mut self, path: &PathBuf) {
        if path.is_dir() {
            self.0.extend(["--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()]);
        } else {
            self.pair("--ro-bind", Path::new("/dev/null"), path);
        }
    }
}
