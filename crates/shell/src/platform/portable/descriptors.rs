//! Pipes and threads in place of Linux's descriptors for events, timers and processes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd, read, write};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, waitid};
use rustix::pty::{OpenptFlags, openpt, ptsname};

/// Returns a pipe that no other program inherits: its reading end and its writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = rustix::pipe::pipe()?;
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    fcntl_setfd(&theirs, FdFlags::CLOEXEC)?;
    Ok((ours, theirs))
}

/// A pipe keeps its size.
pub(crate) fn set_pipe_size(_pipe: &OwnedFd, _bytes: usize) {}

/// Ready while it is set.
#[derive(Debug)]
pub(crate) struct EventDescriptor {
    seen: OwnedFd,
    lit: OwnedFd,
}

impl EventDescriptor {
    pub(crate) fn new() -> io::Result<EventDescriptor> {
        let (seen, lit) = pipe()?;
        for end in [&seen, &lit] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(EventDescriptor { seen, lit })
    }

    pub(crate) fn set(&self) {
        // It fails only if the pipe is full, and then it is set.
        let _full = write(&self.lit, &[1]);
    }

    pub(crate) fn clear(&self) {
        while read(&self.seen, &mut [0_u8; 64]).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for EventDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.seen.as_fd()
    }
}

/// Ready when its time has passed.
#[derive(Debug)]
pub(crate) struct TimerDescriptor {
    end: OwnedFd,
    /// Dropping the timer ends the thread that waits for it.
    _held: OwnedFd,
}

impl TimerDescriptor {
    pub(crate) fn after(span: Duration) -> io::Result<TimerDescriptor> {
        let (end, ringing) = pipe()?;
        let (dropped, held) = pipe()?;
        let wait = move || {
            let span = crate::process::timespec(span);
            let _passed = poll(&mut [PollFd::new(&dropped, PollFlags::IN)], Some(&span));
            drop(ringing);
        };
        let _ends_by_itself = thread::Builder::new().name("alarm".to_owned()).spawn(wait)?;
        Ok(TimerDescriptor { end, _held: held })
    }

    pub(crate) fn never() -> io::Result<TimerDescriptor> {
        let (end, held) = pipe()?;
        Ok(TimerDescriptor { end, _held: held })
    }
}

impl AsFd for TimerDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

/// Ready when the child has ended. The child is not collected, so its id is not reused.
pub(crate) fn watch_process(child: Pid) -> io::Result<OwnedFd> {
    let (end, alive) = pipe()?;
    let wait = move || {
        let _ended = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        drop(alive);
    };
    let _ends_with_it = thread::Builder::new().name("watch".to_owned()).spawn(wait)?;
    Ok(end)
}

pub(crate) fn send_signal(process: Pid, _watched: Option<&OwnedFd>, signal: Signal) {
    // The process may be gone, and its id may belong to another one.
    let _gone = kill_process(process, signal);
}

/// Collects a child that is watched, and waits for its end if necessary.
pub(crate) fn wait_for_exit(child: Pid, _watched: BorrowedFd<'_>) -> io::Result<Option<WaitIdStatus>> {
    Ok(waitid(WaitId::Pid(child), WaitIdOptions::EXITED)?)
}

/// Opens our side of a new terminal.
pub(crate) fn open_terminal() -> io::Result<OwnedFd> {
    // Without `NOCTTY` it could become *our* terminal.
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    Ok(ours)
}

/// Opens the other side of a terminal.
pub(crate) fn open_terminal_peer(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let name = ptsname(ours, Vec::new())?;
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).unwrap_or_default();
    let path = std::ffi::OsStr::from_bytes(name.to_bytes());
    Ok(OpenOptions::new().read(true).write(true).custom_flags(no_control).open(path)?.into())
}

/// Direct I/O is not portable.
pub(crate) fn open_direct(_file: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The system decides what stays in its cache.
pub(crate) fn drop_cached_pages(_file: &File, _from: u64, _length: u64) {}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::{Pid, Signal};

    use super::{EventDescriptor, TimerDescriptor, send_signal, wait_for_exit, watch_process};
    use crate::process::wait;

    #[test]
    fn a_beacon_is_seen_while_it_is_lit_and_an_alarm_when_its_time_has_passed() {
        let (beacon, never) = (EventDescriptor::new().unwrap(), TimerDescriptor::never().unwrap());
        beacon.set();
        beacon.set();
        assert_eq!(wait([beacon.as_fd(), never.as_fd()]).unwrap(), [true, false]);
        beacon.clear();
        let passed = TimerDescriptor::after(Duration::from_nanos(1)).unwrap();
        assert_eq!(wait([beacon.as_fd(), never.as_fd(), passed.as_fd()]).unwrap(), [false, false, true]);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    fn the_end_of_a_child_is_seen_before_it_is_collected() {
        let child = Pid::from_child(&Command::new("sleep").arg("600").spawn().unwrap());
        let watched = watch_process(child).unwrap();
        send_signal(child, Some(&watched), Signal::TERM);
        assert_eq!(wait([watched.as_fd()]).unwrap(), [true]);
        let status = wait_for_exit(child, watched.as_fd()).unwrap().unwrap();
        assert_eq!(status.terminating_signal(), Some(15));
    }
}
