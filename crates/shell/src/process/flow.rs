//! A long stream on its way: one thread writes, the next one hashes, while more is read.
//!
//! The pieces go round in a circle: memory is the same for any size, and whoever is slowest holds up the
//! others.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use envelope::Hash;

use super::disk::Disk;
use super::event::Flag;
use super::feed::Progress;
use super::piece::Piece;

/// How much is read, written and hashed at once.
const PIECE: usize = 1 << 20;
/// How many pieces there are.
const PIECES: usize = 8;

/// Who hears how far the stream has come.
pub(super) type Tell = Box<dyn Fn(Progress) + Send>;

/// Why a stream did not get further, and how much of it is in the file.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) written: u64,
    pub(super) error: io::Error,
}

/// The threads and the circle of pieces.
#[derive(Debug)]
pub(super) struct Flow {
    full: SyncSender<(Piece, Progress)>,
    empty: Receiver<Piece>,
    made: usize,
    writer: JoinHandle<Result<(), Broken>>,
    hasher: JoinHandle<Hash>,
}

impl Flow {
    /// Without a disk the stream is only hashed. `tell` hears of every piece that is where others can read it.
    /// `broken` is raised when the stream can be kept no further.
    pub(super) fn start(disk: Option<Disk>, tell: Tell, broken: Arc<Flag>) -> io::Result<Flow> {
        // Two pieces more than there are: the beginning of the stream comes from elsewhere.
        let (full, to_write) = sync_channel(PIECES + 2);
        let (written, to_hash) = sync_channel(PIECES + 2);
        let (hashed, empty) = sync_channel(PIECES);
        let hasher =
            thread::Builder::new().name("hasher".to_owned()).spawn(move || hash(&to_hash, &hashed))?;
        let write = move || {
            let ended = write(disk, &to_write, &written, &tell);
            if ended.is_err() {
                broken.raise();
            }
            ended
        };
        let writer = thread::Builder::new().name("writer".to_owned()).spawn(write)?;
        Ok(Flow { full, empty, made: 0, writer, hasher })
    }

    /// A piece to fill, or None when the stream is broken.
    pub(super) fn piece(&mut self) -> Option<Piece> {
        if let Ok(piece) = self.empty.try_recv() {
            return Some(piece);
        }
        if self.made < PIECES {
            self.made += 1;
            return Some(Piece::new(PIECE));
        }
        self.empty.recv().ok()
    }

    /// Takes the next piece. False when the stream is broken; [`Flow::finish`] says why.
    pub(super) fn take(&self, piece: Piece, then: Progress) -> bool {
        self.full.send((piece, then)).is_ok()
    }

    pub(super) fn finish(self) -> Result<Hash, Broken> {
        drop(self.full);
        let failed =
            || Broken { written: 0, error: io::Error::other("a thread that keeps the output has failed") };
        self.writer.join().map_err(|_| failed())??;
        self.hasher.join().map_err(|_| failed())
    }
}

fn write(
    mut disk: Option<Disk>,
    pieces: &Receiver<(Piece, Progress)>,
    written: &SyncSender<Piece>,
    tell: &Tell,
) -> Result<(), Broken> {
    for (piece, then) in pieces {
        if let Some(disk) = &mut disk {
            disk.write(&piece).map_err(|error| Broken { written: disk.length(), error })?;
        }
        tell(then);
        // The hasher lives as long as anything is sent to it.
        let _gone = written.send(piece);
    }
    Ok(())
}

fn hash(pieces: &Receiver<Piece>, hashed: &SyncSender<Piece>) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(piece.bytes());
        // Shorter ones came from elsewhere. Nobody takes a piece back when the stream has ended.
        if piece.room() >= PIECE {
            let _ended = hashed.try_send(piece);
        }
    }
    Hash::from_bytes(*hasher.finalize().as_bytes())
}
