//! How much a command may use, as the kernel counts it.

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Limits;

/// Holds this process, and whatever it becomes or starts, to the limits.
pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    // The address space is left alone: runtimes such as V8 and Go reserve far more of it than they use.
    lower(Resource::Data, limits.memory_bytes)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    // A core would hold whatever the command held, in a place of the system's choosing.
    lower(Resource::Core, 0)
}

/// Lowers a limit, soft and hard; one that is lower already stays.
pub(super) fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(to, |limit| limit.min(to)));
    setrlimit(resource, Rlimit { current: least(now.current), maximum: least(now.maximum) })
}
