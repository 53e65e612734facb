//! Everything in this crate that depends on the operating system: the memory of processes, which only Linux shows in a
//! file. `--cfg tollgate_portable` selects the portable version on Linux too, for a compile check.

/// Returns the resident memory of a process and its children in bytes: the installed program is a script around the
/// real one. `None` if the process is gone.
#[cfg(all(target_os = "linux", not(tollgate_portable)))]
pub(crate) fn memory_of(pid: i32) -> Option<u64> {
    /// Generations of children that are counted.
    const DEPTH: u8 = 3;

    fn memory_of(pid: i32, depth: u8) -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let mut bytes = pages.saturating_mul(u64::try_from(rustix::param::page_size()).unwrap_or(4096));
        if depth < DEPTH {
            let children =
                std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
            bytes += children.filter_map(|child| memory_of(child, depth + 1)).sum::<u64>();
        }
        Some(bytes)
    }

    memory_of(pid, 0)
}

/// Always `None`: no portable call reads the memory of another process.
#[cfg(any(tollgate_portable, not(target_os = "linux")))]
pub(crate) fn memory_of(_pid: i32) -> Option<u64> {
    None
}
