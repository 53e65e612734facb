//! Reads one stream of a command until it ends or the reader is told to stop.
//!
//! The end of the command is not the end of its output: a descendant may hold the pipe for ever. So the reader
//! waits for two things at once, bytes and the word to stop.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use envelope::{Failure, Fault};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read};

use super::event::{Flag, wait};
use super::feed::Progress;
use super::spool::{Spool, Stream, Trouble};
use super::wires::PIPE_BYTES;

/// How much is read after the word to stop: what a pipe can hold, and not what somebody still writes into it.
const LAST_BYTES: u64 = PIPE_BYTES as u64;

/// What became of a stream.
#[derive(Debug)]
pub(super) struct Captured {
    pub(super) stream: Result<Stream, Fault>,
    pub(super) over_limit: bool,
}

/// What the reader of one stream needs besides the stream.
pub(super) struct Capture {
    pub(super) source: OwnedFd,
    pub(super) spool: Spool,
    /// Raised from outside: stop with what is there.
    pub(super) stop: Arc<Flag>,
    /// Raised when nothing more is read.
    pub(super) drained: Arc<Flag>,
    /// Raised when the stream is kept, or is known to be lost.
    pub(super) done: Arc<Flag>,
}

impl Capture {
    /// Reads on a thread of its own. `tell` hears of every step, `trouble` of the need to end the command.
    pub(super) fn start(
        mut self,
        tell: impl Fn(Progress) + Send + 'static,
        trouble: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<Captured>> {
        let work = move || {
            let ended = self.read(&tell);
            if ended.is_err() {
                trouble();
            }
            self.drained.raise();
            tell(self.spool.progress());
            let captured = match ended {
                Ok(()) => Captured { stream: self.spool.finish(), over_limit: false },
                Err(Trouble::OverLimit) => Captured { stream: self.spool.finish(), over_limit: true },
                Err(Trouble::Lost(fault)) => Captured { stream: Err(fault), over_limit: false },
            };
            self.done.raise();
            captured
        };
        thread::Builder::new().name("output".to_owned()).spawn(work)
    }

    fn read(&mut self, tell: &impl Fn(Progress)) -> Result<(), Trouble> {
        let mut left = None;
        loop {
            let [_, stopped] = wait([self.source.as_fd(), self.stop.as_fd()]).map_err(unreadable)?;
            if stopped {
                left.get_or_insert(LAST_BYTES);
            }
            let mut piece = self.spool.piece()?;
            let more = fill(&self.source, &mut piece).map_err(unreadable)?;
            let count = piece.len() as u64;
            if count > 0 {
                self.spool.push(piece)?;
                tell(self.spool.progress());
            }
            if let Some(left) = &mut left {
                *left = left.saturating_sub(count);
            }
            let enough = left == Some(0) || (left.is_some() && count == 0);
            if !more || enough {
                return Ok(());
            }
        }
    }
}

/// Reads what is there, and says whether more can come.
fn fill(source: &OwnedFd, piece: &mut Vec<u8>) -> io::Result<bool> {
    while piece.len() < piece.capacity() {
        match read(source, spare_capacity(piece)) {
            // A terminal says `IO` when nobody is at its other side any more.
            Ok(0) | Err(Errno::IO) => return Ok(false),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

fn unreadable(error: io::Error) -> Trouble {
    Trouble::Lost(Fault::new(Failure::ExecutionFailed, format!("the output could not be read: {error}")))
}
