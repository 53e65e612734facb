//! Pipeline for a long stream: one thread writes and the next one hashes, while more is read.
//!
//! The chunks circulate, so memory does not depend on the size of the stream, and the slowest stage sets the pace.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use envelope::Hash;

use super::chunk::AlignedChunk;
use super::disk_writer::DiskWriter;
use super::event::EventFlag;
use super::tail::StreamPosition;

/// Bytes that are read, written and hashed at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Number of chunks.
const CHUNKS: usize = 8;

/// Called with the new position of the stream.
pub(super) type ProgressCallback = Box<dyn Fn(StreamPosition) + Send>;

/// Why the stream was cut off, and how much of it is in the file.
#[derive(Debug)]
pub(super) struct PipelineError {
    pub(super) written: u64,
    pub(super) error: io::Error,
}

/// The threads and the circulating chunks.
#[derive(Debug)]
pub(super) struct WritePipeline {
    full: SyncSender<(AlignedChunk, StreamPosition)>,
    empty: Receiver<AlignedChunk>,
    made: usize,
    writer: JoinHandle<Result<(), PipelineError>>,
    hasher: JoinHandle<Hash>,
}

impl WritePipeline {
    /// Without a disk the stream is only hashed. `on_progress` is called for every chunk that readers can see. `broken`
    /// is raised when no more of the stream can be stored.
    pub(super) fn start(
        disk: Option<DiskWriter>,
        on_progress: ProgressCallback,
        broken: Arc<EventFlag>,
    ) -> io::Result<WritePipeline> {
        // Two more than there are chunks: the beginning of the stream is an additional one.
        let (full, to_write) = sync_channel(CHUNKS + 2);
        let (written, to_hash) = sync_channel(CHUNKS + 2);
        let (hashed, empty) = sync_channel(CHUNKS);
        let hasher =
            thread::Builder::new().name("hasher".to_owned()).spawn(move || hash(&to_hash, &hashed))?;
        let write = move || {
            let ended = write(disk, &to_write, &written, &on_progress);
            if ended.is_err() {
                broken.raise();
            }
            ended
        };
        let writer = thread::Builder::new().name("writer".to_owned()).spawn(write)?;
        Ok(WritePipeline { full, empty, made: 0, writer, hasher })
    }

    /// Returns a chunk to fill, or `None` if the pipeline is broken.
    pub(super) fn chunk(&mut self) -> Option<AlignedChunk> {
        if let Ok(chunk) = self.empty.try_recv() {
            return Some(chunk);
        }
        if self.made < CHUNKS {
            self.made += 1;
            return Some(AlignedChunk::new(CHUNK_BYTES));
        }
        self.empty.recv().ok()
    }

    /// Takes the next chunk. Returns false if the pipeline is broken; [`WritePipeline::finish`] returns the error.
    pub(super) fn take(&self, chunk: AlignedChunk, then: StreamPosition) -> bool {
        self.full.send((chunk, then)).is_ok()
    }

    pub(super) fn finish(self) -> Result<Hash, PipelineError> {
        drop(self.full);
        let failed = || PipelineError {
            written: 0,
            error: io::Error::other("a thread that keeps the output has failed"),
        };
        self.writer.join().map_err(|_| failed())??;
        self.hasher.join().map_err(|_| failed())
    }
}

fn write(
    mut disk: Option<DiskWriter>,
    chunks: &Receiver<(AlignedChunk, StreamPosition)>,
    written: &SyncSender<AlignedChunk>,
    on_progress: &ProgressCallback,
) -> Result<(), PipelineError> {
    for (chunk, then) in chunks {
        if let Some(disk) = &mut disk {
            disk.write(&chunk).map_err(|error| PipelineError { written: disk.length(), error })?;
        }
        on_progress(then);
        // The hasher lives as long as its channel.
        let _gone = written.send(chunk);
    }
    Ok(())
}

fn hash(chunks: &Receiver<AlignedChunk>, hashed: &SyncSender<AlignedChunk>) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for chunk in chunks {
        hasher.update(chunk.bytes());
        // The beginning of the stream is shorter and is not reused. The receiver is gone when the stream has ended.
        if chunk.room() >= CHUNK_BYTES {
            let _ended = hashed.try_send(chunk);
        }
    }
    Hash::from_bytes(*hasher.finalize().as_bytes())
}
