//! A control group for one command, which the kernel holds to a number of processes: root's too.
//!
//! The limit on processes that users have is none for root. A control group can be made where the system's tree of
//! them can be written, which is on a machine of one's own and seldom in a container; elsewhere processes are counted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where every system has its control groups.
const TREE: &str = "/sys/fs/cgroup";

/// What the names of ours begin with. The process that made it and a count follow.
const PREFIX: &str = "tollgate-";

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A control group. Dropping it removes it, if nobody is left in it.
#[derive(Debug)]
pub(super) struct Group(PathBuf);

impl Group {
    /// Makes one that holds so many processes and threads. None where that cannot be done.
    pub(super) fn new(tasks: u64) -> Option<Group> {
        let place = place(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new(TREE))?;
        sweep(&place);
        let (own, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = place.join(format!("{PREFIX}{own}-{count}"));
        fs::create_dir(&path).ok()?;
        let group = Group(path);
        put(&group.0.join("pids.max"), &tasks.to_string()).ok()?;
        Some(group)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who is still on the way out keeps it; then the next command removes it.
        let _not_empty = fs::remove_dir(&self.0);
    }
}

/// Moves this process into a group, and with it all that it starts from now on.
pub(super) fn join(group: &Path) -> io::Result<()> {
    put(&group.join("cgroup.procs"), "0")
}

fn put(file: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(text.as_bytes())
}

/// The folder in which a group can hold processes to a number, from what the kernel says about our own groups.
fn place(own: &str, tree: &Path) -> Option<PathBuf> {
    let below = |folder: PathBuf, path: &str| folder.join(path.trim_start_matches('/'));
    for line in own.lines() {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        if controllers.split(',').any(|controller| controller == "pids") {
            return Some(below(tree.join("pids"), path)).filter(|folder| folder.is_dir());
        }
        let folder = below(tree.to_owned(), path);
        // In the newer tree a group has processes or groups that are held to something, not both; so it is made
        // beside our own, except at the top.
        let holds = if controllers.is_empty() { folder.join("cgroup.subtree_control") } else { continue };
        if path == "/" {
            let held = fs::read_to_string(holds).unwrap_or_default();
            if held.split_ascii_whitespace().any(|controller| controller == "pids") {
                return Some(folder);
            }
        } else if folder.join("pids.max").is_file() {
            return folder.parent().map(Path::to_owned);
        }
    }
    None
}

/// Removes what those left who are gone.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
        if maker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _not_empty = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::Path;

    use super::{place, sweep};

    /// A tree with these folders and files, and where a group is made in it.
    fn found(own: &str, files: &[(&str, &str)]) -> Option<String> {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let place = place(own, tree.path())?;
        Some(format!("/{}", place.strip_prefix(tree.path()).unwrap().display()))
    }

    #[test]
    fn a_group_is_made_where_it_can_hold_processes_to_a_number() {
        let older = "8:pids:/user\n4:memory:/\n0::/\n";
        assert_eq!(found(older, &[("pids/user/tasks", "")]).as_deref(), Some("/pids/user"));
        assert_eq!(found(older, &[]), None, "it is somewhere else here");
        let session = "0::/user.slice/session.scope\n";
        let held = ("user.slice/session.scope/pids.max", "max");
        assert_eq!(found(session, &[held]).as_deref(), Some("/user.slice"), "beside our own");
        assert_eq!(found(session, &[("user.slice/session.scope/cgroup.procs", "")]), None);
        let top = |controllers| found("0::/\n", &[("cgroup.subtree_control", controllers)]);
        assert_eq!(top("cpu memory pids\n").as_deref(), Some("/"));
        assert_eq!(top("cpu memory\n"), None);
    }

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        let living = format!("tollgate-{}-0", std::process::id());
        for name in ["tollgate-4194305-7", living.as_str(), "user-1-2", "tollgate-x"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        sweep(place.path());
        let left = ["tollgate-4194305-7", &living, "user-1-2", "tollgate-x"];
        assert_eq!(left.map(|name| Path::new(place.path()).join(name).exists()), [false, true, true, true]);
    }
}
