//! Descriptors for events, timers and processes, and direct I/O.

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

/// Returns a pipe that no other program inherits: its reading end and its writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Makes a pipe larger, if the system grants it.
pub(crate) fn set_pipe_size(pipe: &OwnedFd, bytes: usize) {
    let _refused = fcntl_setpipe_size(pipe, bytes);
}

/// Ready while it is set.
#[derive(Debug)]
pub(crate) struct EventDescriptor(OwnedFd);

impl EventDescriptor {
    pub(crate) fn new() -> io::Result<EventDescriptor> {
        Ok(EventDescriptor(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn set(&self) {
        // It fails only if the counter is full, and then it is set.
        let _full = write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn clear(&self) {
        // An empty counter means that it is clear already.
        let _out = read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for EventDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ready when its time has passed.
#[derive(Debug)]
pub(crate) struct TimerDescriptor(OwnedFd);

impl TimerDescriptor {
    pub(crate) fn after(span: Duration) -> io::Result<TimerDescriptor> {
        let alarm = TimerDescriptor::never()?;
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A timer that is set to zero is disarmed.
        let once = Itimerspec {
            it_interval: none,
            it_value: crate::process::timespec(span.max(Duration::from_nanos(1))),
        };
        timerfd_settime(&alarm.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(alarm)
    }

    pub(crate) fn never() -> io::Result<TimerDescriptor> {
        Ok(TimerDescriptor(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?))
    }
}

impl AsFd for TimerDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ready when the process has ended.
pub(crate) fn watch_process(process: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(process, PidfdFlags::empty())?)
}

/// Sends a signal to the watched process, and not to a later one with the same id.
pub(crate) fn send_signal(process: Pid, watched: Option<&OwnedFd>, signal: Signal) {
    // The process may be gone. The next look at the process table shows it.
    let _gone = match watched {
        Some(watched) => pidfd_send_signal(watched, signal),
        None => kill_process(process, signal),
    };
}

/// Collects a child that is watched, and waits for its end if necessary.
pub(crate) fn wait_for_exit(_child: Pid, watched: BorrowedFd<'_>) -> io::Result<Option<WaitIdStatus>> {
    Ok(waitid(WaitId::PidFd(watched), WaitIdOptions::EXITED)?)
}

/// Opens our side of a new terminal.
pub(crate) fn open_terminal() -> io::Result<OwnedFd> {
    // Without `NOCTTY` it could become *our* terminal.
    Ok(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

/// Opens the other side of a terminal.
pub(crate) fn open_terminal_peer(ours: &OwnedFd) -> io::Result<OwnedFd> {
    // Opened through our side: a name under `/dev/pts` could be another terminal if that is mounted anew.
    Ok(ioctl_tiocgptpeer(ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

/// Opens a file again for direct I/O. Every process that can write to a file can also reopen it.
pub(crate) fn open_direct(file: &File) -> io::Result<File> {
    let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    OpenOptions::new().write(true).custom_flags(direct).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Starts writing back dirty pages, without waiting, and drops clean ones.
pub(crate) fn drop_cached_pages(file: &File, from: u64, length: u64) {
    // Only advice: a file system that ignores it works as before.
    let _unknown = fadvise(file, from, NonZeroU64::new(length), Advice::DontNeed);
}
