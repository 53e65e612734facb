//! Events that a thread can wait for: a flag, a wake signal, a timer, the end of a process.
//!
//! Each is a file descriptor, so one `poll` waits for any of them. No clock is read, and no thread polls at intervals.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::platform::{EventDescriptor, TimerDescriptor};

/// A flag that stays raised.
#[derive(Debug)]
pub(super) struct EventFlag(EventDescriptor);

impl EventFlag {
    pub(super) fn new() -> io::Result<EventFlag> {
        EventDescriptor::new().map(EventFlag)
    }

    pub(super) fn raise(&self) {
        self.0.set();
    }

    pub(super) fn is_raised(&self) -> bool {
        is_ready(self.as_fd())
    }
}

impl AsFd for EventFlag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Raises a flag when it is dropped, so that a waiter never waits for a thread that has failed.
#[derive(Debug)]
pub(super) struct RaiseOnDrop(pub(super) Arc<EventFlag>);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// A signal that can be sent any number of times, until [`WakeSignal::reset`].
#[derive(Debug)]
pub(super) struct WakeSignal(EventFlag);

impl WakeSignal {
    pub(super) fn new() -> io::Result<WakeSignal> {
        EventFlag::new().map(WakeSignal)
    }

    pub(super) fn notify(&self) {
        self.0.raise();
    }

    pub(super) fn reset(&self) {
        self.0.0.clear();
    }
}

impl AsFd for WakeSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ready when its time has passed.
#[derive(Debug)]
pub(super) struct Timer(TimerDescriptor);

impl Timer {
    pub(super) fn after(span: Duration) -> io::Result<Timer> {
        TimerDescriptor::after(span).map(Timer)
    }

    /// Returns a timer that never becomes ready.
    pub(super) fn never() -> io::Result<Timer> {
        TimerDescriptor::never().map(Timer)
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

/// Waits until at least one source is ready. Returns which ones are.
pub(crate) fn wait<const N: usize>(sources: [BorrowedFd<'_>; N]) -> io::Result<[bool; N]> {
    let mut polled = sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return Ok(polled.map(|source| !source.revents().is_empty())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until `sink` is writable or the flag is raised. Returns true if it is writable.
pub(super) fn wait_writable(sink: BorrowedFd<'_>, unless: &EventFlag) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(sink, PollFlags::OUT), PollFd::new(unless, PollFlags::IN)];
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return Ok(polled[1].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the flag is raised, for `span` at most. Returns whether it is.
pub(super) fn wait_at_most(flag: &EventFlag, span: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::new(flag, PollFlags::IN)];
    match poll(&mut polled, Some(&timespec(span))) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn timespec(span: Duration) -> Timespec {
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
        let (flag, signal) = (EventFlag::new().unwrap(), WakeSignal::new().unwrap());
        assert_eq!((flag.is_raised(), is_ready(signal.as_fd())), (false, false));
        flag.raise();
        flag.raise();
        signal.notify();
        signal.notify();
        assert_eq!(wait([flag.as_fd(), signal.as_fd()]).unwrap(), [true, true]);
        signal.reset();
        signal.reset();
        assert_eq!(wait([flag.as_fd(), signal.as_fd()]).unwrap(), [true, false]);
    }

    #[test]
    fn a_timer_of_no_time_has_passed_and_one_without_time_does_not_pass() {
        let (now, never) = (Timer::after(Duration::ZERO).unwrap(), Timer::never().unwrap());
        assert_eq!(wait([now.as_fd(), never.as_fd()]).unwrap(), [true, false]);
        assert_eq!((now.has_passed(), never.has_passed()), (true, false));
    }
}
