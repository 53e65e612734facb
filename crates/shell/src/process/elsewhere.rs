//! The same without Linux: pipes and threads where it has descriptors of its own kind.
#![cfg_attr(target_os = "linux", allow(dead_code, reason = "on Linux it is there for its tests"))]

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

/// A pipe that no other program inherits: the end to read from, the end to write to.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = rustix::pipe::pipe()?;
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    fcntl_setfd(&theirs, FdFlags::CLOEXEC)?;
    Ok((ours, theirs))
}

/// A pipe stays as large as it is.
pub(super) fn widen(_pipe: &OwnedFd, _bytes: usize) {}

/// Ready while it is lit.
#[derive(Debug)]
pub(super) struct Beacon {
    seen: OwnedFd,
    lit: OwnedFd,
}

impl Beacon {
    pub(super) fn new() -> io::Result<Beacon> {
        let (seen, lit) = pipe()?;
        for end in [&seen, &lit] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Beacon { seen, lit })
    }

    pub(super) fn light(&self) {
        // The only way to fail is a pipe that is full, and then it is lit.
        let _full = write(&self.lit, &[1]);
    }

    pub(super) fn put_out(&self) {
        while read(&self.seen, &mut [0_u8; 64]).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for Beacon {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.seen.as_fd()
    }
}

/// Ready when its time has passed.
#[derive(Debug)]
pub(super) struct Alarm {
    end: OwnedFd,
    /// Whoever lets go of the alarm ends the thread that waits for it.
    _held: OwnedFd,
}

impl Alarm {
    pub(super) fn after(span: Duration) -> io::Result<Alarm> {
        let (end, ringing) = pipe()?;
        let (dropped, held) = pipe()?;
        let wait = move || {
            let span = super::event::timespec(span);
            let _passed = poll(&mut [PollFd::new(&dropped, PollFlags::IN)], Some(&span));
            drop(ringing);
        };
        let _ends_by_itself = thread::Builder::new().name("alarm".to_owned()).spawn(wait)?;
        Ok(Alarm { end, _held: held })
    }

    pub(super) fn never() -> io::Result<Alarm> {
        let (end, held) = pipe()?;
        Ok(Alarm { end, _held: held })
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

/// Ready when the child has ended. It is not collected, so its id stays its own.
pub(super) fn watch(child: Pid) -> io::Result<OwnedFd> {
    let (end, alive) = pipe()?;
    let wait = move || {
        let _ended = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        drop(alive);
    };
    let _ends_with_it = thread::Builder::new().name("watch".to_owned()).spawn(wait)?;
    Ok(end)
}

pub(super) fn send(process: Pid, _watched: Option<&OwnedFd>, signal: Signal) {
    // It may end, or be somebody else's, between the look and the signal; the next look tells.
    let _gone = kill_process(process, signal);
}

/// Collects a child that is watched. Waits for its end if need be.
pub(super) fn collect(child: Pid, _watched: BorrowedFd<'_>) -> io::Result<Option<WaitIdStatus>> {
    Ok(waitid(WaitId::Pid(child), WaitIdOptions::EXITED)?)
}

/// Our side of a new terminal.
pub(super) fn open_terminal() -> io::Result<OwnedFd> {
    // Without `NOCTTY` it could become *our* terminal.
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    Ok(ours)
}

/// The other side of a terminal.
pub(super) fn other_side(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let name = ptsname(ours, Vec::new())?;
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).unwrap_or_default();
    let path = std::ffi::OsStr::from_bytes(name.to_bytes());
    Ok(OpenOptions::new().read(true).write(true).custom_flags(no_control).open(path)?.into())
}

/// There is no such way.
pub(super) fn open_directly(_file: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The system decides what it keeps in its memory.
pub(super) fn let_go(_file: &File, _from: u64, _length: u64) {}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::{Pid, Signal};

    use super::{Alarm, Beacon, collect, send, watch};
    use crate::process::event::wait;

    #[test]
    fn a_beacon_is_seen_while_it_is_lit_and_an_alarm_when_its_time_has_passed() {
        let (beacon, never) = (Beacon::new().unwrap(), Alarm::never().unwrap());
        beacon.light();
        beacon.light();
        assert_eq!(wait([beacon.as_fd(), never.as_fd()]).unwrap(), [true, false]);
        beacon.put_out();
        let passed = Alarm::after(Duration::from_nanos(1)).unwrap();
        assert_eq!(wait([beacon.as_fd(), never.as_fd(), passed.as_fd()]).unwrap(), [false, false, true]);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    fn the_end_of_a_child_is_seen_before_it_is_collected() {
        let child = Pid::from_child(&Command::new("sleep").arg("600").spawn().unwrap());
        let watched = watch(child).unwrap();
        send(child, Some(&watched), Signal::TERM);
        assert_eq!(wait([watched.as_fd()]).unwrap(), [true]);
        let status = collect(child, watched.as_fd()).unwrap().unwrap();
        assert_eq!(status.terminating_signal(), Some(15));
    }
}
