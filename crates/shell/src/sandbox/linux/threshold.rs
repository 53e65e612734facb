//! Whether a command was reached: the launcher says so on a pipe that no command ever holds.
//!
//! Bubblewrap and the launcher stand before the command and share its streams and its exit code, so neither tells
//! whose they are. This pipe does: one byte is written when everything is built, right before the launcher becomes
//! the command, and whoever could still write or read it by then has closed it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use envelope::{Failure, Fault};
use rustix::io::read;
use rustix::pipe::{PipeFlags, pipe_with};

/// What the launcher and bubblewrap begin with when they say why they could not build the wall.
const COMPLAINTS: [&str; 2] = ["tollgate: the sandbox was not built: ", "bwrap: "];

/// Our side: knows whether the command was reached.
#[derive(Debug)]
pub struct Threshold(Mutex<Heard>);

/// What is known of the bell. Whoever learns more writes it down before anybody else may ask.
#[derive(Debug)]
enum Heard {
    NothingYet(OwnedFd),
    Ring,
    /// It will not be rung any more.
    Silence,
}

/// The launcher's side. The process that is started has to inherit it.
#[derive(Debug)]
pub struct Doorbell(OwnedFd);

/// Both sides for one command.
pub(crate) fn threshold() -> io::Result<Option<(Threshold, Doorbell)>> {
    Threshold::new().map(Some)
}

impl Threshold {
    fn new() -> io::Result<(Threshold, Doorbell)> {
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok((Threshold(Mutex::new(Heard::NothingYet(ours))), Doorbell(theirs)))
    }

    /// Whether the command was reached by now. What is printed before that is not the command's.
    pub fn is_crossed(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listen()
    }

    /// The same, for good: the process has ended, and nobody listens from here on.
    pub fn was_crossed(&self) -> bool {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let crossed = heard.listen();
        if !crossed {
            *heard = Heard::Silence;
        }
        crossed
    }
}

impl Heard {
    /// Whether the bell was rung by now.
    fn listen(&mut self) -> bool {
        if let Heard::NothingYet(bell) = self
            && read(bell, &mut [0]) == Ok(1)
        {
            *self = Heard::Ring;
        }
        matches!(self, Heard::Ring)
    }
}

impl Doorbell {
    /// What the launcher is told to ring.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl From<Doorbell> for OwnedFd {
    fn from(bell: Doorbell) -> OwnedFd {
        bell.0
    }
}

/// Why there was no command. What was printed is not the command's, so it is what the wall complains about.
pub(crate) fn not_run(printed: &[u8]) -> Fault {
    let said = String::from_utf8_lossy(printed);
    let why = COMPLAINTS.iter().find_map(|prefix| said.strip_prefix(prefix)).unwrap_or(&said).trim();
    let why = if why.is_empty() { "whatever builds it ended early" } else { why };
    let message = format!("the command was not run, since its sandbox was not built: {why}");
    Fault::new(Failure::SetupRequired, message)
        .hint("look at `tollgate doctor` and at [commands] in .tollgate/config.toml")
}

/// The inherited bell as a file of this process alone: the command does not inherit it.
#[derive(Debug)]
pub(super) struct Held(File);

impl Held {
    /// Opened anew, by name: a bare number is nobody's, and only unsafe code can make it somebody's.
    pub(super) fn take(number: i32) -> io::Result<Held> {
        File::options().write(true).open(format!("/proc/self/fd/{number}")).map(Held)
    }

    pub(super) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    pub(super) fn ring(mut self) -> io::Result<()> {
        self.0.write_all(b"!")
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, Threshold};

    #[test]
    fn it_is_crossed_when_the_bell_was_rung_and_only_then() {
        let (silent, bell) = Threshold::new().unwrap();
        drop(bell);
        assert!(!silent.is_crossed());
        let (rung, bell) = Threshold::new().unwrap();
        let held = Held::take(bell.number()).unwrap();
        assert_ne!(held.number(), bell.number());
        assert!(!rung.is_crossed());
        held.ring().unwrap();
        assert!(rung.is_crossed() && rung.was_crossed() && rung.is_crossed());
        let (silent, _bell) = Threshold::new().unwrap();
        assert!(!silent.was_crossed() && !silent.is_crossed());
    }

    #[test]
    fn all_who_ask_at_once_are_told_the_same() {
        for _ in 0..500 {
            let (threshold, bell) = Threshold::new().unwrap();
            Held::take(bell.number()).and_then(Held::ring).unwrap();
            let together = std::sync::Barrier::new(4);
            let told = std::thread::scope(|scope| {
                let ask = || {
                    together.wait();
                    threshold.is_crossed()
                };
                let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                asking.into_iter().map(|asks| asks.join().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(told, [true; 4]);
        }
    }

    #[test]
    fn a_bell_that_nobody_hears_is_an_error_and_not_a_wait() {
        let (gone, bell) = Threshold::new().unwrap();
        drop(gone);
        assert!(Held::take(bell.number()).and_then(Held::ring).is_err());
    }
}
