//! Reads one stream of a command until it ends or the reader is told to stop.
//!
//! The end of the command is not the end of its output: a descendant may hold the pipe for ever. So the reader
//! waits for two things at once, bytes and the word to stop.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use envelope::{Failure, Fault};
use rustix::io::{Errno, read};

use super::event::{Flag, RaisedInTheEnd, wait, wait_at_most};
use super::piece::Piece;
use super::spool::{Spool, Stream, Trouble};
use super::wires::PIPE_BYTES;

/// When so much came at once, more is on its way, and it is cheaper to be woken once for all of it.
const BRISK: Range<usize> = (16 << 10)..(PIPE_BYTES / 2);
/// How long a pipe is left to fill then. Too short for anyone to notice.
const PAUSE: Duration = Duration::from_micros(500);

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
    pub(super) drained: RaisedInTheEnd,
    /// Raised when the stream is kept, or is known to be lost.
    pub(super) done: RaisedInTheEnd,
}

impl Capture {
    /// Reads on a thread of its own. `trouble` hears of the need to end the command.
    pub(super) fn start(
        mut self,
        trouble: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<Captured>> {
        let work = move || {
            let ended = self.read();
            if ended.is_err() {
                trouble();
            }
            let Capture { spool, drained, done, .. } = self;
            drop(drained);
            let captured = match ended {
                Ok(()) => Captured { stream: spool.finish(), over_limit: false },
                Err(Trouble::OverLimit) => Captured { stream: spool.finish(), over_limit: true },
                Err(Trouble::Lost(fault)) => Captured { stream: Err(fault), over_limit: false },
            };
            drop(done);
            captured
        };
        thread::Builder::new().name("output".to_owned()).spawn(work)
    }

    fn read(&mut self) -> Result<(), Trouble> {
        let mut spare = None;
        let mut came = 0;
        loop {
            let sources = [self.source.as_fd(), self.stop.as_fd(), self.spool.broken().as_fd()];
            let [_, mut stopped, broken] = wait(sources).map_err(unreadable)?;
            if broken {
                return Err(self.spool.give_up());
            }
            if !stopped && BRISK.contains(&came) {
                stopped = wait_at_most(&self.stop, PAUSE).map_err(unreadable)?;
            }
            came = 0;
            // No more than a pipe holds, so that the word to stop is heard however much is printed.
            while came < PIPE_BYTES {
                let mut piece = spare.take().map_or_else(|| self.spool.piece(), Ok)?;
                let after = fill(&self.source, &mut piece).map_err(unreadable)?;
                came += piece.bytes().len();
                if piece.bytes().is_empty() {
                    spare = Some(piece);
                } else {
                    self.spool.push(piece)?;
                }
                match after {
                    After::More => {}
                    After::Nothing => break,
                    After::End => return Ok(()),
                }
            }
            if stopped {
                return Ok(());
            }
        }
    }
}

/// What is behind the bytes that were read.
enum After {
    /// Perhaps more.
    More,
    /// Nothing yet.
    Nothing,
    End,
}

/// Reads what is there, as much as fits.
fn fill(source: &OwnedFd, piece: &mut Piece) -> io::Result<After> {
    while !piece.spare().is_empty() {
        match read(source, piece.spare()) {
            // A terminal says `IO` when nobody is at its other side any more.
            Ok(0) | Err(Errno::IO) => return Ok(After::End),
            Ok(some) => piece.add(some),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(After::Nothing),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(After::More)
}

fn unreadable(error: io::Error) -> Trouble {
    Trouble::Lost(Fault::new(Failure::ExecutionFailed, format!("the output could not be read: {error}")))
}
