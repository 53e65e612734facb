//! What is typed into a command.
//!
//! A command may never read, so nobody waits for it: bytes are queued up to a limit, and one thread hands them
//! over as they are taken.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use envelope::{Failure, Fault};
use rustix::io::{Errno, write};

use super::event::{Bell, Flag, wait, wait_writable};

/// How much may wait for a command that does not read.
const MAX_WAITING: usize = 8 << 20;
/// How much is handed over at once.
const PIECE: usize = 64 << 10;
/// What ends the input of a terminal, which cannot be closed as long as its output is read.
const END_OF_TRANSMISSION: u8 = 4;

/// What a command reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing, and it sees at once that nothing will come.
    Nothing,
    /// These bytes, and then the end.
    Text(Vec<u8>),
    /// These bytes, and then what is typed later.
    Open(Vec<u8>),
}

#[derive(Debug)]
struct Waiting {
    bytes: VecDeque<u8>,
    /// Nothing is added any more.
    closed: bool,
    /// The command reads no more.
    broken: bool,
}

/// The writing end of a command's input.
#[derive(Debug)]
pub(super) struct Typist {
    waiting: Mutex<Waiting>,
    bell: Bell,
    terminal: bool,
}

impl Typist {
    /// Hands over the input and what is typed later, until it is closed, breaks, or `stop` is raised.
    pub(super) fn start(
        sink: OwnedFd,
        terminal: bool,
        input: Input,
        stop: Arc<Flag>,
    ) -> io::Result<Arc<Typist>> {
        let (first, closed) = match input {
            Input::Nothing => (Vec::new(), true),
            Input::Text(text) => (text, true),
            Input::Open(text) => (text, false),
        };
        let waiting = Waiting { bytes: first.into(), closed: false, broken: false };
        let typist = Arc::new(Typist { waiting: Mutex::new(waiting), bell: Bell::new()?, terminal });
        if closed {
            typist.close();
        }
        let hand = Arc::clone(&typist);
        let work = move || {
            // A broken pipe is the usual end of an input that nobody reads.
            let _broken = hand.hand_over(&sink, &stop);
            hand.lock().broken = true;
        };
        let _runs_by_itself = thread::Builder::new().name("input".to_owned()).spawn(work)?;
        Ok(typist)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut waiting = self.lock();
        if waiting.closed || waiting.broken {
            return Err(closed());
        }
        if waiting.bytes.len() + bytes.len() > MAX_WAITING {
            let message = format!(
                "the command has not read {} bytes of its input yet, and takes no {} more",
                waiting.bytes.len(),
                bytes.len()
            );
            return Err(Fault::new(Failure::PreconditionFailed, message)
                .hint("Wait until it has read what it was given, or stop it."));
        }
        waiting.bytes.extend(bytes);
        drop(waiting);
        self.bell.ring();
        Ok(())
    }

    /// Nothing comes any more: the command sees the end of its input behind what is waiting.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        if self.terminal && !waiting.closed {
            waiting.bytes.push_back(END_OF_TRANSMISSION);
        }
        waiting.closed = true;
        drop(waiting);
        self.bell.ring();
    }

    fn hand_over(&self, sink: &OwnedFd, stop: &Flag) -> io::Result<()> {
        loop {
            let piece = {
                let waiting = self.lock();
                let (front, _) = waiting.bytes.as_slices();
                match front {
                    [] if waiting.closed => return Ok(()),
                    front => front.get(..PIECE).unwrap_or(front).to_vec(),
                }
            };
            if piece.is_empty() {
                let [_, stopped] = wait([self.bell.as_fd(), stop.as_fd()])?;
                if stopped {
                    return Ok(());
                }
                self.bell.silence();
            } else if wait_writable(sink.as_fd(), stop)? {
                match write(sink, &piece) {
                    Ok(taken) => drop(self.lock().bytes.drain(..taken)),
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn closed() -> Fault {
    Fault::new(Failure::PreconditionFailed, "the command's input is closed")
        .hint("Start the command again with its input open, or give it everything at the start.")
}
