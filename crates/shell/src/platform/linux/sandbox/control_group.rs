//! A control group for one command, which limits its processes and its memory.
//!
//! The kernel's limit on the processes of a user does not apply to root, and its limit on memory applies to each
//! process. A control group can be made where the cgroup tree is writable: by root on a machine, by a user to whom a
//! part was delegated, as systemd does for desktop programs, and seldom in a container. Memory is limited in cgroup v2
//! only.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, access};

use super::ResourceLimits;

/// Mount point of the control groups.
const TREE: &str = "/sys/fs/cgroup";

/// Prefix of our names. The id of the creating process and a counter follow.
const PREFIX: &str = "tollgate-";

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A control group. Dropping it removes it if no process is left in it.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    controllers: GroupControllers,
}

/// Limits that groups below one folder can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupControllers {
    pub(super) processes: bool,
    pub(super) memory: bool,
}

/// A folder in which a group can be created.
#[derive(Debug, PartialEq, Eq)]
struct GroupParent {
    folder: PathBuf,
    controllers: GroupControllers,
}

impl ControlGroup {
    /// Creates a group with these limits, and room for `more` processes of our own. Fails with the reason if no group
    /// can be created.
    pub(super) fn new(limits: &ResourceLimits, more: u64) -> Result<ControlGroup, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let place =
            find_parent(&own, Path::new(TREE)).ok_or("the system lets no control group be made here")?;
        ControlGroup::create_in(&place, limits, more)
    }

    fn create_in(place: &GroupParent, limits: &ResourceLimits, more: u64) -> Result<ControlGroup, String> {
        let failed = |error: io::Error| format!("no control group can be made: {error}");
        // A process that joins a group needs write access to the parent group.
        access(place.folder.join("cgroup.procs"), Access::WRITE_OK).map_err(|error| failed(error.into()))?;
        remove_stale_groups(&place.folder);
        let (own, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = place.folder.join(format!("{PREFIX}{own}-{count}"));
        fs::create_dir(&path).map_err(failed)?;
        let mut group = ControlGroup { path, controllers: place.controllers };
        let set = |name: &str, value: u64| write_control(&group.path.join(name), &value.to_string());
        let processes =
            place.controllers.processes && set("pids.max", limits.processes.saturating_add(more)).is_ok();
        let memory = place.controllers.memory && set("memory.max", limits.memory_bytes).is_ok();
        if memory {
            // Not every kernel has these: swap counts as memory, and the whole command is killed at once.
            let _no_swap = set("memory.swap.max", 0);
            let _one_by_one = set("memory.oom.group", 1);
        }
        group.controllers = GroupControllers { processes, memory };
        Ok(group)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn controllers(&self) -> GroupControllers {
        self.controllers
    }

    /// Whether the kernel killed a process of the group because the group ran out of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.controllers.memory
            && fs::read_to_string(self.path.join("memory.events")).is_ok_and(|events| has_oom_kill(&events))
    }
}

/// Parses lines such as `oom_kill 1`.
fn has_oom_kill(events: &str) -> bool {
    let counts = events.lines().filter_map(|line| line.split_once(' '));
    counts.into_iter().any(|(name, count)| name == "oom_kill" && count.trim() != "0")
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // A process that is still ending keeps the group; the next command removes it.
        let _not_empty = fs::remove_dir(&self.path);
    }
}

/// Moves this process into a group, with everything that it starts from now on.
pub(super) fn join(group: &Path) -> io::Result<()> {
    write_control(&group.join("cgroup.procs"), "0")
}

fn write_control(file: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(text.as_bytes())
}

/// Finds a folder for groups from our own entry in `/proc/self/cgroup`.
fn find_parent(own: &str, tree: &Path) -> Option<GroupParent> {
    let below = |folder: PathBuf, path: &str| folder.join(path.trim_start_matches('/'));
    for line in own.lines() {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        if controllers.split(',').any(|controller| controller == "pids") {
            let controllers = GroupControllers { processes: true, memory: false };
            let folder = below(tree.join("pids"), path);
            return folder.is_dir().then_some(GroupParent { folder, controllers });
        }
        if !controllers.is_empty() {
            continue;
        }
        let own = below(tree.to_owned(), path);
        // In cgroup v2 a group has either processes or groups with limits. So the new group is a sibling of ours,
        // except at the root.
        let (folder, controllers) = if path == "/" {
            let held = fs::read_to_string(own.join("cgroup.subtree_control")).unwrap_or_default();
            let has = |wanted: &str| held.split_ascii_whitespace().any(|controller| controller == wanted);
            (own, GroupControllers { processes: has("pids"), memory: has("memory") })
        } else {
            let has = |file: &str| own.join(file).is_file();
            (
                own.parent()?.to_owned(),
                GroupControllers { processes: has("pids.max"), memory: has("memory.max") },
            )
        };
        if controllers.processes || controllers.memory {
            return Some(GroupParent { folder, controllers });
        }
    }
    None
}

/// Removes groups of processes that no longer exist.
fn remove_stale_groups(place: &Path) {
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

    use super::{
        ControlGroup, GroupControllers, GroupParent, ResourceLimits, find_parent, has_oom_kill,
        remove_stale_groups,
    };

    /// Returns where a group is created in a tree with these folders and files, and which limits it can have.
    fn found(own: &str, files: &[(&str, &str)]) -> Option<String> {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let GroupParent { folder, controllers } = find_parent(own, tree.path())?;
        let held = [("processes", controllers.processes), ("memory", controllers.memory)];
        let held: Vec<&str> = held.into_iter().filter(|(_, held)| *held).map(|(name, _)| name).collect();
        Some(format!("/{} {}", folder.strip_prefix(tree.path()).unwrap().display(), held.join("+")))
    }

    #[test]
    fn a_group_is_made_where_it_can_hold_a_command_to_something() {
        let older = "8:pids:/user\n4:memory:/\n0::/\n";
        assert_eq!(found(older, &[("pids/user/tasks", "")]).as_deref(), Some("/pids/user processes"));
        assert_eq!(found(older, &[]), None, "it is somewhere else here");
        let session = "0::/user.slice/session.scope\n";
        let processes = ("user.slice/session.scope/pids.max", "max");
        let memory = ("user.slice/session.scope/memory.max", "max");
        assert_eq!(found(session, &[processes]).as_deref(), Some("/user.slice processes"), "beside our own");
        assert_eq!(found(session, &[processes, memory]).as_deref(), Some("/user.slice processes+memory"));
        assert_eq!(found(session, &[memory]).as_deref(), Some("/user.slice memory"));
        assert_eq!(found(session, &[("user.slice/session.scope/cgroup.procs", "")]), None);
        let top = |controllers| found("0::/\n", &[("cgroup.subtree_control", controllers)]);
        assert_eq!(top("cpu memory pids\n").as_deref(), Some("/ processes+memory"));
        assert_eq!(top("cpu memory\n").as_deref(), Some("/ memory"));
        assert_eq!(top("cpu\n"), None);
    }

    const LIMITS: ResourceLimits =
        ResourceLimits { memory_bytes: 1 << 20, processes: 7, file_bytes: 1, open_files: 1 };

    #[test]
    fn no_group_is_made_where_it_could_not_be_joined_or_not_be_held() {
        let folder = tempfile::tempdir().unwrap();
        let controllers = GroupControllers { processes: true, memory: true };
        let place = GroupParent { folder: folder.path().to_owned(), controllers };
        let refused = ControlGroup::create_in(&place, &LIMITS, 0).unwrap_err();
        assert!(refused.starts_with("no control group can be made: "), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        File::create(folder.path().join("cgroup.procs")).unwrap();
        // An ordinary folder has none of the files that take limits.
        let group = ControlGroup::create_in(&place, &LIMITS, 0).unwrap();
        assert_eq!(group.controllers(), GroupControllers { processes: false, memory: false });
        assert!(!group.ran_out_of_memory());
        drop(group);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn who_was_killed_for_memory_is_counted() {
        assert!(!has_oom_kill("low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n"));
        assert!(has_oom_kill("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n"));
    }

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        let living = format!("tollgate-{}-0", std::process::id());
        for name in ["tollgate-4194305-7", living.as_str(), "user-1-2", "tollgate-x"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        remove_stale_groups(place.path());
        let left = ["tollgate-4194305-7", &living, "user-1-2", "tollgate-x"];
        assert_eq!(left.map(|name| Path::new(place.path()).join(name).exists()), [false, true, true, true]);
    }
}
