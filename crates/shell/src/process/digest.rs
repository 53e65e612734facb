//! The hash of a stream while it is written, and its way to the disk.
//!
//! On a thread of its own, so that hashing a piece and writing the next one happen at the same time. The pieces
//! go round in a circle: memory is the same for any size.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use envelope::Hash;
use rustix::fs::{Advice, fadvise};

/// How much is read, written and hashed at once.
pub(super) const PIECE: usize = 256 << 10;
/// How many pieces are on their way.
const PIECES: usize = 8;
/// How much is written before the system is told to begin moving it to the disk.
const BATCH: u64 = 8 << 20;
/// How many batches may be on their way to the disk. The last sync has no more than these to wait for.
const BATCHES_UNDER_WAY: u64 = 8;

/// The thread and the circle of pieces.
#[derive(Debug)]
pub(super) struct Digest {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    made: usize,
    thread: JoinHandle<io::Result<Hash>>,
}

impl Digest {
    /// `file` is where the same bytes are written; None if they are written nowhere.
    pub(super) fn start(file: Option<File>) -> io::Result<Digest> {
        let (full, pieces) = sync_channel::<Vec<u8>>(PIECES);
        let (back, empty) = sync_channel(PIECES);
        let work = move || {
            let mut hasher = blake3::Hasher::new();
            let mut shore = Shore { file, hashed: 0, pushed: 0 };
            for mut piece in pieces {
                hasher.update(&piece);
                shore.wash(piece.len())?;
                piece.clear();
                // Short ones came from elsewhere. Nobody takes a piece back when the stream has ended.
                if piece.capacity() >= PIECE {
                    let _ended = back.try_send(piece);
                }
            }
            Ok(Hash::from_bytes(*hasher.finalize().as_bytes()))
        };
        let thread = thread::Builder::new().name("digest".to_owned()).spawn(work)?;
        Ok(Digest { full, empty, made: 0, thread })
    }

    /// An empty piece, or None when the thread has given up.
    pub(super) fn piece(&mut self) -> Option<Vec<u8>> {
        if let Ok(piece) = self.empty.try_recv() {
            return Some(piece);
        }
        if self.made < PIECES {
            self.made += 1;
            return Some(Vec::with_capacity(PIECE));
        }
        self.empty.recv().ok()
    }

    /// Takes a piece that was written. False when the thread has given up; [`Digest::finish`] says why.
    pub(super) fn take(&self, piece: Vec<u8>) -> bool {
        self.full.send(piece).is_ok()
    }

    pub(super) fn finish(self) -> io::Result<Hash> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that hashes has failed")))
    }
}

/// Moves what was written to the disk while more is coming, so that the last sync is short and the memory of
/// the system is not filled with a file that nobody reads soon.
struct Shore {
    file: Option<File>,
    hashed: u64,
    pushed: u64,
}

impl Shore {
    fn wash(&mut self, bytes: usize) -> io::Result<()> {
        self.hashed += bytes as u64;
        let Some(file) = &self.file else { return Ok(()) };
        while self.hashed - self.pushed >= BATCH {
            // What is dirty begins to be written, without waiting for it; what is clean is dropped. So the same
            // advice starts the newest batch and lets go of one that has arrived.
            advise(file, self.pushed);
            if let Some(old) = self.pushed.checked_sub(BATCH * BATCHES_UNDER_WAY) {
                if old.is_multiple_of(BATCH * BATCHES_UNDER_WAY) {
                    file.sync_data()?;
                }
                advise(file, old);
            }
            self.pushed += BATCH;
        }
        Ok(())
    }
}

fn advise(file: &File, from: u64) {
    // Advice: a file system that knows none of it works as before.
    let _unknown = fadvise(file, from, NonZeroU64::new(BATCH), Advice::DontNeed);
}
