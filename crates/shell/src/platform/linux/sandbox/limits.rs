//! Resource limits of a command, as the kernel counts them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io;
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::system::uname;

use super::control_group::{ControlGroup, GroupControllers};
use super::{ResourceLimits, SandboxKind};
use crate::platform::processes;

/// Limits this process, and everything that it becomes or starts. `tasks` is the limit of processes and threads as the
/// kernel counts them.
pub(super) fn apply(limits: &ResourceLimits, tasks: u64) -> io::Result<()> {
    // The address space is not limited: runtimes such as V8 and Go reserve far more of it than they use.
    lower(Resource::Data, limits.memory_bytes)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    lower(Resource::Nproc, tasks)?;
    // A core dump would contain all data of the command, in a place that the system chooses.
    lower(Resource::Core, 0)
}

/// Lowers the soft and the hard limit. A limit that is lower already stays.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(to, |limit| limit.min(to)));
    setrlimit(resource, Rlimit { current: least(now.current), maximum: least(now.maximum) })
}

/// Returns how many processes and threads this user may have, so that the command can have its own number of them.
///
/// The kernel counts all processes of a user. Since Linux 5.14 it counts those of a user namespace separately.
pub(super) fn task_limit(kind: SandboxKind, limits: &ResourceLimits) -> u64 {
    let counted_apart = kind == SandboxKind::Bubblewrap && kernel_version() >= Some((5, 14));
    if counted_apart { limits.processes } else { limits.processes.saturating_add(count_user_tasks()) }
}

/// Our own processes around a command: those of bubblewrap, the supervisor and the init process of a PID namespace.
const OURS: u64 = 4;

/// Limits the processes and the memory of a command as a whole, beyond the limits of each process.
#[derive(Debug)]
pub(super) struct ProcessLimiter {
    group: Option<ControlGroup>,
    /// Whether a supervisor has to count processes.
    counts: bool,
    memory_bytes: u64,
}

impl ProcessLimiter {
    /// The kernel limits the processes of every user but root. A control group limits root, too, and is the only way to
    /// limit the memory of several processes together.
    pub(super) fn new(limits: &ResourceLimits) -> ProcessLimiter {
        let is_root = geteuid().is_root();
        let group = ControlGroup::new(limits, OURS).ok();
        // The processes of other users are limited already.
        let is_of_use = |held: GroupControllers| held.memory || (held.processes && is_root);
        let group = group.filter(|group| is_of_use(group.controllers()));
        let counts = is_root && !group.as_ref().is_some_and(|group| group.controllers().processes);
        ProcessLimiter { group, counts, memory_bytes: limits.memory_bytes }
    }

    pub(super) fn group(&self) -> Option<&Path> {
        self.group.as_ref().map(ControlGroup::path)
    }

    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// Returns a warning for the user after the command has ended.
    pub(super) fn warning(&self) -> Option<String> {
        let megabytes = self.memory_bytes >> 20;
        self.group.as_ref().is_some_and(ControlGroup::ran_out_of_memory).then(|| {
            format!(
                "the command needed more than {megabytes} MB of memory and was killed; let it use less, or raise \
                 `memory_mb` under [commands] in .tollgate/config.toml"
            )
        })
    }
}

/// Checks whether the limit on memory can apply to all processes of a command together. Fails with the reason why it
/// applies to each process only.
pub(super) fn cgroup_memory() -> Result<(), String> {
    let limits = ResourceLimits { memory_bytes: 1 << 30, processes: 1, file_bytes: 1, open_files: 1 };
    match ControlGroup::new(&limits, 0)?.controllers().memory {
        true => Ok(()),
        false => Err("the system has no cgroup v2 that limits memory here".to_owned()),
    }
}

fn kernel_version() -> Option<(u32, u32)> {
    let uname = uname();
    let mut numbers = uname.release().to_str().ok()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns the current number of processes and threads of this user.
fn count_user_tasks() -> u64 {
    let user = geteuid().as_raw();
    let owned = |pid: i32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|about| about.uid() == user);
    processes().filter(|stat| owned(stat.pid)).map(|stat| stat.threads).sum()
}
