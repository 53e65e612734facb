//! Reads one stream of a command until it ends or the reader is stopped.
//!
//! The output can outlive the command: a descendant may hold the pipe for ever. So the reader waits for bytes and for
//! the stop flag at once.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use envelope::{Failure, Fault};
use rustix::io::{Errno, read};

use super::capture_file::{CaptureError, CaptureFile, CapturedStream};
use super::chunk::AlignedChunk;
use super::event::{EventFlag, RaiseOnDrop, wait, wait_at_most};
use super::stdio::PIPE_BYTES;

/// After a read of this size more output is likely, and it is cheaper to wake up once for all of it.
const MORE_LIKELY: Range<usize> = (16 << 10)..(PIPE_BYTES / 2);
/// Pause that lets the pipe fill. Too short to be noticed.
const PAUSE: Duration = Duration::from_micros(500);

/// Result of reading a stream.
#[derive(Debug)]
pub(super) struct CaptureResult {
    pub(super) stream: Result<CapturedStream, Fault>,
    pub(super) over_limit: bool,
}

/// A stream, its destination, and the flags of its reader.
pub(super) struct OutputCapture {
    pub(super) source: OwnedFd,
    pub(super) file: CaptureFile,
    /// Raised by the supervisor to stop reading.
    pub(super) stop: Arc<EventFlag>,
    /// Raised when reading has ended.
    pub(super) drained: RaiseOnDrop,
    /// Raised when the stream is stored, or is known to be lost.
    pub(super) done: RaiseOnDrop,
}

impl OutputCapture {
    /// Starts a thread that reads. Calls `on_error` if the command has to be ended.
    pub(super) fn start(
        mut self,
        on_error: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<CaptureResult>> {
        let work = move || {
            let ended = self.read();
            if ended.is_err() {
                on_error();
            }
            let OutputCapture { file, drained, done, .. } = self;
            drop(drained);
            let captured = match ended {
                Ok(()) => CaptureResult { stream: file.finish(), over_limit: false },
                Err(CaptureError::OverLimit) => CaptureResult { stream: file.finish(), over_limit: true },
                Err(CaptureError::Lost(fault)) => CaptureResult { stream: Err(fault), over_limit: false },
            };
            drop(done);
            captured
        };
        thread::Builder::new().name("output".to_owned()).spawn(work)
    }

    fn read(&mut self) -> Result<(), CaptureError> {
        let mut spare = None;
        let mut received = 0;
        loop {
            let sources = [self.source.as_fd(), self.stop.as_fd(), self.file.broken_flag().as_fd()];
            let [_, mut stopped, broken] = wait(sources).map_err(unreadable)?;
            if broken {
                return Err(self.file.take_error());
            }
            if !stopped && MORE_LIKELY.contains(&received) {
                stopped = wait_at_most(&self.stop, PAUSE).map_err(unreadable)?;
            }
            received = 0;
            // At most as much as a pipe holds, so that the stop flag is seen however much is printed.
            while received < PIPE_BYTES {
                let mut chunk = spare.take().map_or_else(|| self.file.chunk(), Ok)?;
                let after = fill(&self.source, &mut chunk).map_err(unreadable)?;
                received += chunk.bytes().len();
                if chunk.bytes().is_empty() {
                    spare = Some(chunk);
                } else {
                    self.file.push(chunk)?;
                }
                match after {
                    SourceState::More => {}
                    SourceState::Nothing => break,
                    SourceState::End => return Ok(()),
                }
            }
            if stopped {
                return Ok(());
            }
        }
    }
}

/// State of the source after a read.
enum SourceState {
    /// There may be more.
    More,
    /// Empty for now.
    Nothing,
    End,
}

/// Reads everything that is available, as much as fits.
fn fill(source: &OwnedFd, chunk: &mut AlignedChunk) -> io::Result<SourceState> {
    while !chunk.spare().is_empty() {
        match read(source, chunk.spare()) {
            // A terminal returns `IO` when its other side is closed.
            Ok(0) | Err(Errno::IO) => return Ok(SourceState::End),
            Ok(some) => chunk.add(some),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(SourceState::Nothing),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(SourceState::More)
}

fn unreadable(error: io::Error) -> CaptureError {
    CaptureError::Lost(Fault::new(Failure::ExecutionFailed, format!("the output could not be read: {error}")))
}
