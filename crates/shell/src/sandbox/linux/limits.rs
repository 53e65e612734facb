//! How much a command may use, as the kernel counts it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io;
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::system::uname;

use super::cgroup::Group;
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

/// Who holds a command to its number of processes.
#[derive(Debug)]
pub(super) enum Holder {
    /// The kernel, as it holds every user.
    Kernel,
    /// The kernel, by a control group: the limit of users is none for root.
    Group(Group),
    /// A supervisor that counts.
    Supervisor,
}

impl Holder {
    pub(super) fn new(limits: &Limits) -> Holder {
        if !geteuid().is_root() {
            return Holder::Kernel;
        }
        Group::new(limits.processes.saturating_add(OURS)).map_or(Holder::Supervisor, Holder::Group)
    }

    pub(super) fn group(&self) -> Option<&Path> {
        match self {
            Holder::Group(group) => Some(group.path()),
            Holder::Kernel | Holder::Supervisor => None,
        }
    }

    pub(super) fn counts(&self) -> bool {
        matches!(self, Holder::Supervisor)
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
