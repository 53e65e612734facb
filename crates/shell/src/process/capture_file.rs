//! Captures one stream of a command: a short stream in memory, a long one in an artifact from its first byte on.

use std::io;
use std::sync::Arc;

use envelope::{Artifact, Failure, Fault, Hash};
use toolkit::OpenArtifact;

use super::chunk::AlignedChunk;
use super::disk_writer::DiskWriter;
use super::event::EventFlag;
use super::pipeline::{ProgressCallback, WritePipeline};
use super::tail::{StreamPosition, StreamTail, newlines};

/// Bytes of a stream that stay in memory. A stream of at most this length leaves no artifact.
pub const HEAD_BYTES: usize = 32 << 10;

/// A stream that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedStream {
    pub bytes: u64,
    /// Includes a last line without a line break.
    pub lines: u64,
    pub hash: Hash,
    /// The whole stream if it is short.
    pub text: Option<Vec<u8>>,
    /// The whole stream if it is long. `None` for a run that keeps no artifacts.
    pub artifact: Option<Artifact>,
}

impl CapturedStream {
    /// Returns a stream without any output.
    pub(super) fn empty() -> CapturedStream {
        CapturedStream { bytes: 0, lines: 0, hash: Hash::of(b""), text: Some(Vec::new()), artifact: None }
    }
}

/// Why a stream is not captured any further.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CaptureError {
    /// It reached its limit.
    OverLimit,
    /// It could not be stored.
    Lost(Fault),
}

/// The writing side of one stream.
pub(super) struct CaptureFile {
    role: &'static str,
    limit: u64,
    tail: Arc<StreamTail>,
    on_progress: Option<ProgressCallback>,
    broken: Arc<EventFlag>,
    progress: StreamPosition,
    last: u8,
    stored: CaptureStorage,
}

enum CaptureStorage {
    InMemory,
    Artifact {
        artifact: Option<OpenArtifact>,
        pipeline: WritePipeline,
    },
    /// An error was reported, or the stream is finished.
    Closed,
}

impl CaptureFile {
    /// `on_progress` is called whenever more of the stream becomes visible to readers.
    pub(super) fn new(
        role: &'static str,
        limit: u64,
        tail: Arc<StreamTail>,
        on_progress: ProgressCallback,
    ) -> io::Result<CaptureFile> {
        let broken = Arc::new(EventFlag::new()?);
        let (progress, stored) = (StreamPosition::default(), CaptureStorage::InMemory);
        Ok(CaptureFile {
            role,
            limit,
            tail,
            on_progress: Some(on_progress),
            broken,
            progress,
            last: b'\n',
            stored,
        })
    }

    /// Raised when no more of the stream can be stored, even while nothing is pushed.
    pub(super) fn broken_flag(&self) -> &EventFlag {
        &self.broken
    }

    /// Returns a chunk to read into.
    pub(super) fn chunk(&mut self) -> Result<AlignedChunk, CaptureError> {
        let chunk = match &mut self.stored {
            CaptureStorage::InMemory => Some(AlignedChunk::new(HEAD_BYTES)),
            CaptureStorage::Artifact { pipeline, .. } => pipeline.chunk(),
            CaptureStorage::Closed => None,
        };
        let mut chunk = chunk.ok_or_else(|| self.take_error())?;
        chunk.begin(self.progress.bytes);
        Ok(chunk)
    }

    /// Appends a chunk. Fails with `OverLimit` once the stream exceeds its limit; everything up to the limit is stored.
    pub(super) fn push(&mut self, mut chunk: AlignedChunk) -> Result<(), CaptureError> {
        let room = usize::try_from(self.limit - self.progress.bytes).unwrap_or(usize::MAX);
        let over = chunk.bytes().len() > room;
        chunk.truncate(room);
        let bytes = chunk.bytes();
        let then = StreamPosition {
            bytes: self.progress.bytes + bytes.len() as u64,
            newlines: self.progress.newlines + newlines(bytes),
        };
        self.last = bytes.last().copied().unwrap_or(self.last);
        if matches!(self.stored, CaptureStorage::InMemory) && then.bytes <= HEAD_BYTES as u64 {
            self.tail.head().extend_from_slice(bytes);
            if let Some(on_progress) = &self.on_progress {
                on_progress(then);
            }
        } else if !bytes.is_empty() {
            self.pipeline(chunk, then)?;
        }
        self.progress = then;
        if over { Err(CaptureError::OverLimit) } else { Ok(()) }
    }

    /// Ends the stream and makes it durable.
    pub(super) fn finish(mut self) -> Result<CapturedStream, Fault> {
        let lines = self.progress.newlines + u64::from(self.last != b'\n');
        let bytes = self.progress.bytes;
        let (hash, text, artifact) = match std::mem::replace(&mut self.stored, CaptureStorage::Closed) {
            CaptureStorage::InMemory => {
                let text = self.tail.head().clone();
                (Hash::of(&text), Some(text), None)
            }
            CaptureStorage::Artifact { artifact, pipeline } => {
                let hash =
                    pipeline.finish().map_err(|broken| self.report_loss(broken.written, &broken.error))?;
                let artifact = artifact.map(|open| self.tail.artifacts().seal(open, bytes, hash));
                (hash, None, artifact.transpose().map_err(|fault| self.storage_fault(bytes, &fault.message))?)
            }
            CaptureStorage::Closed => return Err(self.storage_fault(bytes, "it was given up")),
        };
        Ok(CapturedStream { bytes, lines, hash, text, artifact })
    }

    fn pipeline(&mut self, chunk: AlignedChunk, then: StreamPosition) -> Result<(), CaptureError> {
        if let (CaptureStorage::InMemory, Some(on_progress)) = (&self.stored, self.on_progress.take()) {
            self.start_artifact(on_progress).map_err(CaptureError::Lost)?;
        }
        match &self.stored {
            CaptureStorage::Artifact { pipeline, .. } if pipeline.take(chunk, then) => Ok(()),
            CaptureStorage::Artifact { .. } | CaptureStorage::InMemory | CaptureStorage::Closed => {
                Err(self.take_error())
            }
        }
    }

    /// Moves a stream that is too long for memory to an artifact. The bytes in memory become its beginning.
    fn start_artifact(&mut self, on_progress: ProgressCallback) -> Result<(), Fault> {
        let made = self.tail.artifacts().create(self.role, "log");
        let artifact = made.map_err(|fault| self.storage_fault(0, &fault.message))?;
        if let Some(open) = &artifact {
            self.tail.set_path(&open.path);
        }
        let disk = artifact.as_ref().map(|open| open.file.try_clone().map(DiskWriter::new)).transpose();
        let pipeline =
            disk.and_then(|disk| WritePipeline::start(disk, on_progress, Arc::clone(&self.broken)));
        let pipeline = pipeline.map_err(|error| self.report_loss(0, &error))?;
        let beginning = AlignedChunk::of(&self.tail.head());
        if !beginning.bytes().is_empty() {
            // If the pipeline refuses this chunk, it refuses the next one too.
            pipeline.take(beginning, self.progress);
        }
        self.stored = CaptureStorage::Artifact { artifact, pipeline };
        Ok(())
    }

    /// Ends the threads and returns the error.
    pub(super) fn take_error(&mut self) -> CaptureError {
        let broken = match std::mem::replace(&mut self.stored, CaptureStorage::Closed) {
            CaptureStorage::Artifact { pipeline, .. } => pipeline.finish().err(),
            CaptureStorage::InMemory | CaptureStorage::Closed => None,
        };
        CaptureError::Lost(match broken {
            Some(broken) => self.report_loss(broken.written, &broken.error),
            None => self.storage_fault(0, "it was given up"),
        })
    }

    fn report_loss(&self, kept: u64, error: &io::Error) -> Fault {
        let why = error.to_string();
        if let Some(path) = self.tail.path() {
            self.tail.artifacts().lost(path, &why);
        }
        self.storage_fault(kept, &why)
    }

    fn storage_fault(&self, kept: u64, why: &str) -> Fault {
        fault_about(self.role, kept, self.tail.path(), why)
    }
}

fn fault_about(role: &str, kept: u64, path: Option<&str>, why: &str) -> Fault {
    let place = match path {
        Some(path) => format!("the first {kept} bytes of {role} are in `{path}`, which is not complete"),
        None => format!("nothing of {role} was kept"),
    };
    let kept = path.map_or(0, |_| kept);
    let fault = Fault::new(Failure::ExecutionFailed, format!("the output could not be kept: {why}; {place}"))
        .hint("Make room where the runs are kept, then run the command again.")
        .detail("stream", role)
        .detail("keptBytes", kept);
    match path {
        Some(path) => fault.detail("path", path),
        None => fault,
    }
}
