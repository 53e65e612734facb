//! How much a command may use, as the kernel counts it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io;
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::system::uname;

use super::cgroup::{Controllers, Group};
use super::stat::Stat;
use super::{Limits, Wall};

/// Holds this process, and whatever it becomes or starts, to the limits. `tasks` are those that may exist
/// where the kernel counts them.
pub(super) fn apply(limits: &Limits, tasks: u64) -> io::Result<()> {
    // The address space is left alone: runtimes such as V8 and Go reserve far more of it than they use.
    lower(Resource::Data, limits.memory_bytes)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    lower(Resource::Nproc, tasks)?;
    // A core would hold whatever the command held, in a place of the system's choosing.
    lower(Resource::Core, 0)
}

/// Lowers a limit, soft and hard; one that is lower already stays.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(to, |limit| limit.min(to)));
    setrlimit(resource, Rlimit { current: least(now.current), maximum: least(now.maximum) })
}

/// How many processes and threads of this user may exist so that the command can have its number of them.
///
/// The kernel counts all of a user's, and those of a user namespace for themselves since Linux 5.14.
pub(super) fn tasks(wall: Wall, limits: &Limits) -> u64 {
    let counted_apart = wall == Wall::Bubblewrap && kernel() >= Some((5, 14));
    if counted_apart { limits.processes } else { limits.processes.saturating_add(running()) }
}

/// Our own processes around a command: those of bubblewrap, the supervisor and the first of a table.
const OURS: u64 = 4;

/// What holds a command to its number of processes and to its memory, beyond the limits of each process.
#[derive(Debug)]
pub(super) struct Holder {
    group: Option<Group>,
    /// Whether a supervisor has to count processes.
    counts: bool,
    memory_bytes: u64,
}

impl Holder {
    /// The kernel holds every user but root to a number of processes. A control group holds root too, and is the only
    /// one that holds several processes to an amount of memory.
    pub(super) fn new(limits: &Limits) -> Holder {
        let is_root = geteuid().is_root();
        let group = Group::new(limits, OURS).ok();
        // Others are held to a number of processes already.
        let is_of_use = |held: Controllers| held.memory || (held.processes && is_root);
        let group = group.filter(|group| is_of_use(group.controllers()));
        let counts = is_root && !group.as_ref().is_some_and(|group| group.controllers().processes);
        Holder { group, counts, memory_bytes: limits.memory_bytes }
    }

    pub(super) fn group(&self) -> Option<&Path> {
        self.group.as_ref().map(Group::path)
    }

    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// What the user has to know when the command has ended.
    pub(super) fn warning(&self) -> Option<String> {
        let megabytes = self.memory_bytes >> 20;
        self.group.as_ref().is_some_and(Group::ran_out_of_memory).then(|| {
            format!(
                "the command needed more than {megabytes} MB of memory and was killed; let it use less, or raise \
                 `memory_mb` under [commands] in .tollgate/config.toml"
            )
        })
    }
}

/// Whether the limit on memory holds for all processes of a command together; else why it holds for each of them only.
pub(super) fn whole_memory() -> Result<(), String> {
    let limits = Limits { memory_bytes: 1 << 30, processes: 1, file_bytes: 1, open_files: 1 };
    match Group::new(&limits, 0)?.controllers().memory {
        true => Ok(()),
        false => Err("the system has no cgroup v2 that limits memory here".to_owned()),
    }
}

fn kernel() -> Option<(u32, u32)> {
    let uname = uname();
    let mut numbers = uname.release().to_str().ok()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The processes and threads of this user, at this moment.
fn running() -> u64 {
    let user = geteuid().as_raw();
    let owned = |pid: i32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|about| about.uid() == user);
    Stat::all().filter(|stat| owned(stat.pid)).map(|stat| stat.threads).sum()
}
