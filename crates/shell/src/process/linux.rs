//! What only Linux has: descriptors for events, for time and for processes, and a way past its memory to the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::{read, write};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, pidfd_open,
    pidfd_send_signal, waitid,
};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A pipe that no other program inherits: the end to read from, the end to write to.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Lets a pipe hold more, if the system grants it.
pub(super) fn widen(pipe: &OwnedFd, bytes: usize) {
    let _refused = fcntl_setpipe_size(pipe, bytes);
}

/// Ready while it is lit.
#[derive(Debug)]
pub(super) struct Beacon(OwnedFd);

impl Beacon {
    pub(super) fn new() -> io::Result<Beacon> {
        Ok(Beacon(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(super) fn light(&self) {
        // The only way to fail is a counter that is full, and then it is lit.
        let _full = write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(super) fn put_out(&self) {
        // Nothing to read means that it is out already.
        let _out = read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for Beacon {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ready when its time has passed.
#[derive(Debug)]
pub(super) struct Alarm(OwnedFd);

impl Alarm {
    pub(super) fn after(span: Duration) -> io::Result<Alarm> {
        let alarm = Alarm::never()?;
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        // One that is set to nothing never comes.
        let once = Itimerspec {
            it_interval: none,
            it_value: super::event::timespec(span.max(Duration::from_nanos(1))),
        };
        timerfd_settime(&alarm.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(alarm)
    }

    pub(super) fn never() -> io::Result<Alarm> {
        Ok(Alarm(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?))
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ready when the process has ended.
pub(super) fn watch(process: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(process, PidfdFlags::empty())?)
}

/// Sends a signal, to the watched process and to no other that may have got its id since.
pub(super) fn send(process: Pid, watched: Option<&OwnedFd>, signal: Signal) {
    // It may end, or be somebody else's, between the look and the signal; the next look tells.
    let _gone = match watched {
        Some(watched) => pidfd_send_signal(watched, signal),
        None => kill_process(process, signal),
    };
}

/// Collects a child that is watched. Waits for its end if need be.
pub(super) fn collect(_child: Pid, watched: BorrowedFd<'_>) -> io::Result<Option<WaitIdStatus>> {
    Ok(waitid(WaitId::PidFd(watched), WaitIdOptions::EXITED)?)
}

/// Our side of a new terminal.
pub(super) fn open_terminal() -> io::Result<OwnedFd> {
    // Without `NOCTTY` it could become *our* terminal.
    Ok(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

/// The other side of a terminal.
pub(super) fn other_side(ours: &OwnedFd) -> io::Result<OwnedFd> {
    // Asked of the pair itself: a name under `/dev/pts` could mean another one where that is mounted anew.
    Ok(ioctl_tiocgptpeer(ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

/// The same file again, past the memory of the system. Whoever may write it may open it anew.
pub(super) fn open_directly(file: &File) -> io::Result<File> {
    let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    OpenOptions::new().write(true).custom_flags(direct).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What is dirty begins to be written, without waiting for it; what is clean is let go of.
pub(super) fn let_go(file: &File, from: u64, length: u64) {
    // Advice: a file system that knows none of it works as before.
    let _unknown = fadvise(file, from, NonZeroU64::new(length), Advice::DontNeed);
}
