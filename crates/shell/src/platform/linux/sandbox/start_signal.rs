//! Reports whether a command was started: the launcher writes to a pipe that no command ever holds.
//!
//! Bubblewrap and the launcher run before the command and share its streams and its exit code, so neither shows who
//! wrote them. This pipe does: one byte is written when everything is built, right before the launcher becomes the
//! command, and every process that could still write or read it by then has closed it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use envelope::{Failure, Fault};
use rustix::io::read;
use rustix::pipe::{PipeFlags, pipe_with};

/// Prefixes of the messages of the launcher and of bubblewrap if they could not build the sandbox.
const COMPLAINTS: [&str; 2] = ["tollgate: the sandbox was not built: ", "bwrap: "];

/// Our end: knows whether the command was started.
#[derive(Debug)]
pub struct StartSignal(Mutex<SignalState>);

/// State of the signal. A change is stored before another thread can ask.
#[derive(Debug)]
enum SignalState {
    Waiting(OwnedFd),
    Started,
    /// It will not arrive any more.
    NotStarted,
}

/// The launcher's end. The started process has to inherit it.
#[derive(Debug)]
pub struct StartNotifier(OwnedFd);

/// Returns both ends for one command.
pub(crate) fn start_signal() -> io::Result<Option<(StartSignal, StartNotifier)>> {
    StartSignal::new().map(Some)
}

impl StartSignal {
    fn new() -> io::Result<(StartSignal, StartNotifier)> {
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok((StartSignal(Mutex::new(SignalState::Waiting(ours))), StartNotifier(theirs)))
    }

    /// Whether the command was started by now. Output before that is not the command's.
    pub fn is_started(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).poll()
    }

    /// Checks for the last time, when the process has ended.
    pub fn check_at_end(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_started = state.poll();
        if !is_started {
            *state = SignalState::NotStarted;
        }
        is_started
    }
}

impl SignalState {
    /// Whether the signal has arrived by now.
    fn poll(&mut self) -> bool {
        if let SignalState::Waiting(notifier) = self
            && read(notifier, &mut [0]) == Ok(1)
        {
            *self = SignalState::Started;
        }
        matches!(self, SignalState::Started)
    }
}

impl StartNotifier {
    /// The descriptor that the launcher is given.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl From<StartNotifier> for OwnedFd {
    fn from(notifier: StartNotifier) -> OwnedFd {
        notifier.0
    }
}

/// Returns why there was no command. The output is not the command's, so it is the error message of the sandbox.
pub(crate) fn sandbox_failure(printed: &[u8]) -> Fault {
    let output = String::from_utf8_lossy(printed);
    let why = COMPLAINTS.iter().find_map(|prefix| output.strip_prefix(prefix)).unwrap_or(&output).trim();
    let why = if why.is_empty() { "whatever builds it ended early" } else { why };
    let message = format!("the command was not run, since its sandbox was not built: {why}");
    Fault::new(Failure::SetupRequired, message)
        .hint("look at `tollgate doctor` and at [commands] in .tollgate/config.toml")
}

/// The inherited descriptor as a file of this process alone: the command does not inherit it.
#[derive(Debug)]
pub(super) struct InheritedNotifier(File);

impl InheritedNotifier {
    /// Reopened by name: only unsafe code can turn a bare number into a descriptor.
    pub(super) fn take(number: i32) -> io::Result<InheritedNotifier> {
        File::options().write(true).open(format!("/proc/self/fd/{number}")).map(InheritedNotifier)
    }

    pub(super) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    pub(super) fn notify(mut self) -> io::Result<()> {
        self.0.write_all(b"!")
    }
}

#[cfg(test)]
mod tests {
    use super::{InheritedNotifier, StartSignal};

    #[test]
    fn it_is_crossed_when_the_bell_was_rung_and_only_then() {
        let (silent, notifier) = StartSignal::new().unwrap();
        drop(notifier);
        assert!(!silent.is_started());
        let (rung, notifier) = StartSignal::new().unwrap();
        let held = InheritedNotifier::take(notifier.number()).unwrap();
        assert_ne!(held.number(), notifier.number());
        assert!(!rung.is_started());
        held.notify().unwrap();
        assert!(rung.is_started() && rung.check_at_end() && rung.is_started());
        let (silent, _bell) = StartSignal::new().unwrap();
        assert!(!silent.check_at_end() && !silent.is_started());
    }

    #[test]
    fn all_who_ask_at_once_are_told_the_same() {
        for _ in 0..500 {
            let (threshold, notifier) = StartSignal::new().unwrap();
            InheritedNotifier::take(notifier.number()).and_then(InheritedNotifier::notify).unwrap();
            let together = std::sync::Barrier::new(4);
            let spec = std::thread::scope(|scope| {
                let ask = || {
                    together.wait();
                    threshold.is_started()
                };
                let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                asking.into_iter().map(|asks| asks.join().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(spec, [true; 4]);
        }
    }

    #[test]
    fn a_bell_that_nobody_hears_is_an_error_and_not_a_wait() {
        let (gone, notifier) = StartSignal::new().unwrap();
        drop(gone);
        assert!(InheritedNotifier::take(notifier.number()).and_then(InheritedNotifier::notify).is_err());
    }
}
