//! Moves what was written to the disk while more is coming.
//!
//! So the last sync is short, and the memory of the system is not filled with a file that nobody reads soon.
//! Waiting for the disk happens on a thread of its own: the command goes on printing in the meantime.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rustix::fs::{Advice, fadvise};

/// How much is written before the system is told to begin moving it.
const BATCH: u64 = 16 << 20;
/// After so many batches everything has to have arrived.
const BATCHES_PER_SYNC: u64 = 4;
/// How many batches may wait for the thread. Whoever writes faster than the disk takes waits here.
const BATCHES_WAITING: usize = 4;

/// The thread that talks to the disk.
#[derive(Debug)]
pub(super) struct Shore {
    batches: SyncSender<()>,
    written: u64,
    sent: u64,
    thread: JoinHandle<io::Result<()>>,
}

impl Shore {
    pub(super) fn start(file: File) -> io::Result<Shore> {
        let (batches, arriving) = sync_channel(BATCHES_WAITING);
        let thread =
            thread::Builder::new().name("shore".to_owned()).spawn(move || carry(&file, &arriving))?;
        Ok(Shore { batches, written: 0, sent: 0, thread })
    }

    /// So many bytes more are in the file. False when the disk has failed; [`Shore::finish`] says how.
    pub(super) fn add(&mut self, bytes: usize) -> bool {
        self.written += bytes as u64;
        while self.written - self.sent >= BATCH {
            self.sent += BATCH;
            if self.batches.send(()).is_err() {
                return false;
            }
        }
        true
    }

    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.batches);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs has failed")))
    }
}

fn carry(file: &File, arriving: &Receiver<()>) -> io::Result<()> {
    let (mut begun, mut arrived) = (0, 0);
    for () in arriving {
        // What is dirty begins to be written, without waiting for it; what is clean is let go of.
        advise(file, begun, BATCH);
        begun += BATCH;
        if begun - arrived == BATCH * BATCHES_PER_SYNC {
            file.sync_data()?;
            advise(file, arrived, begun - arrived);
            arrived = begun;
        }
    }
    Ok(())
}

fn advise(file: &File, from: u64, length: u64) {
    // Advice: a file system that knows none of it works as before.
    let _unknown = fadvise(file, from, NonZeroU64::new(length), Advice::DontNeed);
}
