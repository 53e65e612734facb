//! The standard input of a command.
//!
//! A command may never read its input, so the writer does not block on it: bytes are queued up to a limit, and one
//! thread writes them as they are taken.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use envelope::{Failure, Fault};
use rustix::io::{Errno, write};

use super::event::{EventFlag, WakeSignal, wait, wait_writable};

/// Bytes that can be queued for a command that does not read.
const MAX_WAITING: usize = 8 << 20;
/// Bytes of one write.
const CHUNK_BYTES: usize = 64 << 10;
/// Ends the input of a terminal, which cannot be closed as long as its output is read.
const END_OF_TRANSMISSION: u8 = 4;

/// Input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandInput {
    /// None: the command sees the end of its input at once.
    Nothing,
    /// These bytes, then the end.
    Text(Vec<u8>),
    /// These bytes, then whatever is written later.
    Open(Vec<u8>),
}

#[derive(Debug)]
struct InputQueue {
    bytes: VecDeque<u8>,
    /// No bytes can be added.
    closed: bool,
    /// The command does not read any more.
    broken: bool,
}

/// The writing end of a command's input.
#[derive(Debug)]
pub(super) struct InputWriter {
    queue: Mutex<InputQueue>,
    signal: WakeSignal,
    terminal: bool,
}

impl InputWriter {
    /// Starts a thread that writes the input and everything that is queued later. It ends when the input is closed,
    /// when the pipe breaks, or when `stop` is raised.
    pub(super) fn start(
        sink: OwnedFd,
        terminal: bool,
        input: CommandInput,
        stop: Arc<EventFlag>,
    ) -> io::Result<Arc<InputWriter>> {
        let (first, closed) = match input {
            CommandInput::Nothing => (Vec::new(), true),
            CommandInput::Text(text) => (text, true),
            CommandInput::Open(text) => (text, false),
        };
        let queue = InputQueue { bytes: first.into(), closed: false, broken: false };
        let writer = Arc::new(InputWriter { queue: Mutex::new(queue), signal: WakeSignal::new()?, terminal });
        if closed {
            writer.close();
        }
        let own = Arc::clone(&writer);
        let work = move || {
            // A broken pipe is the usual end of an input that is not read.
            let _broken = own.write_queued(&sink, &stop);
            own.lock().broken = true;
        };
        let _runs_by_itself = thread::Builder::new().name("input".to_owned()).spawn(work)?;
        Ok(writer)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut queue = self.lock();
        if queue.closed || queue.broken {
            return Err(closed());
        }
        if queue.bytes.len() + bytes.len() > MAX_WAITING {
            let message = format!(
                "the command has not read {} bytes of its input yet, and takes no {} more",
                queue.bytes.len(),
                bytes.len()
            );
            return Err(Fault::new(Failure::PreconditionFailed, message)
                .hint("Wait until it has read what it was given, or stop it."));
        }
        queue.bytes.extend(bytes);
        drop(queue);
        self.signal.notify();
        Ok(())
    }

    /// Closes the input: the command sees its end after the queued bytes.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        if self.terminal && !queue.closed {
            queue.bytes.push_back(END_OF_TRANSMISSION);
        }
        queue.closed = true;
        drop(queue);
        self.signal.notify();
    }

    fn write_queued(&self, sink: &OwnedFd, stop: &EventFlag) -> io::Result<()> {
        loop {
            let chunk = {
                let queue = self.lock();
                let (front, _) = queue.bytes.as_slices();
                match front {
                    [] if queue.closed => return Ok(()),
                    front => front.get(..CHUNK_BYTES).unwrap_or(front).to_vec(),
                }
            };
            if chunk.is_empty() {
                let [_, stopped] = wait([self.signal.as_fd(), stop.as_fd()])?;
                if stopped {
                    return Ok(());
                }
                self.signal.reset();
            } else if wait_writable(sink.as_fd(), stop)? {
                match write(sink, &chunk) {
                    Ok(taken) => drop(self.lock().bytes.drain(..taken)),
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, InputQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn closed() -> Fault {
    Fault::new(Failure::PreconditionFailed, "the command's input is closed")
        .hint("Start the command again with its input open, or give it everything at the start.")
}
