//! What a thread can wait for: a flag, a bell, a span of time, the end of a process.
//!
//! Each of them is a descriptor, so one `poll` waits for any of them at once. No clock is read and nobody
//! wakes up just to look.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::system::{Alarm, Beacon};

/// Raised once, and then up for good.
#[derive(Debug)]
pub(super) struct Flag(Beacon);

impl Flag {
    pub(super) fn new() -> io::Result<Flag> {
        Beacon::new().map(Flag)
    }

    pub(super) fn raise(&self) {
        self.0.light();
    }

    pub(super) fn is_raised(&self) -> bool {
        is_ready(self.as_fd())
    }
}

impl AsFd for Flag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Raises a flag when it is dropped, whatever happens before: whoever waits for the flag waits not for ever.
#[derive(Debug)]
pub(super) struct RaisedInTheEnd(pub(super) Arc<Flag>);

impl Drop for RaisedInTheEnd {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Rung any number of times; quiet again after [`Bell::silence`].
#[derive(Debug)]
pub(super) struct Bell(Flag);

impl Bell {
    pub(super) fn new() -> io::Result<Bell> {
        Flag::new().map(Bell)
    }

    pub(super) fn ring(&self) {
        self.0.raise();
    }

    pub(super) fn silence(&self) {
        self.0.0.put_out();
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ready when its time has passed.
#[derive(Debug)]
pub(super) struct Timer(Alarm);

impl Timer {
    pub(super) fn after(span: Duration) -> io::Result<Timer> {
        Alarm::after(span).map(Timer)
    }

    /// A timer whose time does not come.
    pub(super) fn never() -> io::Result<Timer> {
        Alarm::never().map(Timer)
    }

    pub(super) fn has_passed(&self) -> bool {
        is_ready(self.as_fd())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until at least one of them is ready, and says which are.
pub(super) fn wait<const N: usize>(sources: [BorrowedFd<'_>; N]) -> io::Result<[bool; N]> {
    let mut polled = sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return Ok(polled.map(|source| !source.revents().is_empty())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until `sink` takes bytes or the flag is up; true when it takes bytes.
pub(super) fn wait_writable(sink: BorrowedFd<'_>, unless: &Flag) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(sink, PollFlags::OUT), PollFd::new(unless, PollFlags::IN)];
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return Ok(polled[1].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the flag is up, but no longer than `span`; true when it is up.
pub(super) fn wait_at_most(flag: &Flag, span: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::new(flag, PollFlags::IN)];
    match poll(&mut polled, Some(&timespec(span))) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    }
}

fn is_ready(source: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(source, PollFlags::IN)];
    poll(&mut polled, Some(&timespec(Duration::ZERO))).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_stays_up_and_a_bell_falls_silent() {
        let (flag, bell) = (Flag::new().unwrap(), Bell::new().unwrap());
        assert_eq!((flag.is_raised(), is_ready(bell.as_fd())), (false, false));
        flag.raise();
        flag.raise();
        bell.ring();
        bell.ring();
        assert_eq!(wait([flag.as_fd(), bell.as_fd()]).unwrap(), [true, true]);
        bell.silence();
        bell.silence();
        assert_eq!(wait([flag.as_fd(), bell.as_fd()]).unwrap(), [true, false]);
    }

    #[test]
    fn a_timer_of_no_time_has_passed_and_one_without_time_does_not_pass() {
        let (now, never) = (Timer::after(Duration::ZERO).unwrap(), Timer::never().unwrap());
        assert_eq!(wait([now.as_fd(), never.as_fd()]).unwrap(), [true, false]);
        assert_eq!((now.has_passed(), never.has_passed()), (true, false));
    }
}
