//! The hash of a stream while it is written.
//!
//! On a thread of its own, so that hashing a piece and writing the next one happen at the same time. The pieces
//! go round in a circle: memory is the same for any size.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use envelope::Hash;

use super::shore::Shore;

/// How much is read, written and hashed at once.
pub(super) const PIECE: usize = 256 << 10;
/// How many pieces are on their way.
const PIECES: usize = 8;

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
        let mut shore = file.map(Shore::start).transpose()?;
        let work = move || {
            let mut hasher = blake3::Hasher::new();
            for mut piece in pieces {
                hasher.update(&piece);
                if shore.as_mut().is_some_and(|shore| !shore.add(piece.len())) {
                    break;
                }
                piece.clear();
                // Short ones came from elsewhere. Nobody takes a piece back when the stream has ended.
                if piece.capacity() >= PIECE {
                    let _ended = back.try_send(piece);
                }
            }
            shore.map_or(Ok(()), Shore::finish)?;
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
