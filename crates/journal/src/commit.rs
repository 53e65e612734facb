//! Puts batches of records on the disk, in the order that lets recovery find every acknowledged one.
//!
//! A batch goes to the write-ahead log first, then, if somebody waits for it, one sync, and only then to
//! the three logs, which are not synced. Why an acknowledged record is never lost, whatever a power cut keeps
//! of the writes that were not synced:
//!
//! - Acknowledged through the write-ahead log: the sync covered every frame since the checkpoint, so the
//!   record and all before it are there, under a header that was synced with them or before them. The
//!   three logs are synced up to the checkpoint. Recovery takes the rest from the frames.
//! - Acknowledged through a checkpoint (the batch did not fit): the three logs were synced with the record
//!   in them. The new header is written after that. Whether it reaches the disk or the old one stays, the
//!   logs are whole, and frames of the other generation do not count.
//! - A new generation overwrites old frames only after such a checkpoint, so no frame is needed any more
//!   when it goes.
//!
//! What was not acknowledged may be lost or kept; recovery keeps the part without a gap.

use std::io;

use crate::disk::{Disk, LogFile};
use crate::kind::{ChainHead, Kind, Seq};
use crate::line::write_line;
use crate::wal::{Checkpoint, Framed, WAL_FILE, Wal};

/// Records that wait for the committer: their JSON, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub bytes: Vec<u8>,
    records: Vec<Piece>,
}

impl Raw {
    pub(crate) fn push(&mut self, kind: Kind, body: &[u8]) {
        self.bytes.extend_from_slice(body);
        self.records.push(Piece { kind, len: body.len() });
    }

    /// Empties it; a buffer larger than `keep` is given back.
    pub(crate) fn clear(&mut self, keep: usize) {
        if self.bytes.capacity() > keep {
            *self = Raw::default();
        }
        self.bytes.clear();
        self.records.clear();
    }

    /// Appends the chained line of each record to the buffer of its kind.
    pub(crate) fn chain_into(&self, head: &mut ChainHead, mut line: impl FnMut(&mut ChainHead, Kind, &[u8])) {
        for (kind, body) in pieces(&self.bytes, &self.records) {
            line(head, kind, body);
        }
    }
}

/// Records as the lines they will be, in their place in the chain.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Lines with their newlines, one after the other.
    bytes: Vec<u8>,
    records: Vec<Piece>,
    /// The newest record in here.
    head: Option<ChainHead>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    kind: Kind,
    len: usize,
}

fn pieces<'a>(bytes: &'a [u8], records: &'a [Piece]) -> impl Iterator<Item = (Kind, &'a [u8])> {
    let mut rest = bytes;
    records.iter().map(move |record| {
        let (piece, after) = rest.split_at_checked(record.len).unwrap_or((rest, &[]));
        rest = after;
        (record.kind, piece)
    })
}

impl Batch {
    /// Replaces what is in here by the lines of `raw`, chained to `head`, which moves on.
    pub(crate) fn chain(&mut self, head: &mut ChainHead, raw: &Raw) {
        if self.bytes.capacity() > 4 * raw.bytes.len().max(1 << 18) {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.records.clear();
        raw.chain_into(head, |head, kind, body| {
            let before = self.bytes.len();
            *head = write_line(head, kind, body, &mut self.bytes);
            self.records.push(Piece { kind, len: self.bytes.len() - before });
        });
        self.head = (!self.records.is_empty()).then_some(*head);
    }

    fn lines(&self) -> impl Iterator<Item = (Kind, &[u8])> {
        pieces(&self.bytes, &self.records)
    }

    fn frames(&self, first: Seq) -> impl Iterator<Item = Framed<'_>> {
        (first..).zip(self.lines()).map(|(seq, (kind, line))| Framed { seq, kind, line })
    }
}

/// The open files of one run. Owned by the committer.
pub(crate) struct Files {
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) logs: [Log; 3],
    pub(crate) ahead: Ahead,
}

/// The write-ahead log, or what it will start from.
pub(crate) enum Ahead {
    Log(Wal),
    /// A run that was closed and is opened again gets one with its first new record, so that who only looks
    /// and goes leaves it as it was.
    NotYet(Checkpoint),
}

pub(crate) struct Log {
    pub(crate) file: Box<dyn LogFile>,
    pub(crate) len: u64,
    /// Written since its last sync.
    pub(crate) dirty: bool,
    pub(crate) scratch: Vec<u8>,
}

impl Log {
    pub(crate) fn new(file: Box<dyn LogFile>, len: u64) -> Log {
        Log { file, len, dirty: false, scratch: Vec::new() }
    }

    fn write_scratch(&mut self) -> io::Result<()> {
        if self.scratch.is_empty() {
            return Ok(());
        }
        self.dirty = true;
        self.file.write_at(self.len, &self.scratch)?;
        self.len += self.scratch.len() as u64;
        self.scratch.clear();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.sync()?;
            self.dirty = false;
        }
        Ok(())
    }
}

impl Files {
    /// Writes a batch that ends in record `newest`. `acknowledge` is called as soon as that is durable;
    /// without `sync` it may never be, since nobody waits for it.
    pub(crate) fn commit(
        &mut self,
        batch: &Batch,
        newest: Seq,
        sync: bool,
        acknowledge: &mut dyn FnMut(Seq),
    ) -> io::Result<()> {
        let Some(head) = batch.head else {
            // Everything is written already; what is missing is the sync.
            if sync {
                self.sync_ahead()?;
                acknowledge(newest);
            }
            return Ok(());
        };
        let wal = self.wal()?;
        if !wal.fits(batch.records.len(), batch.bytes.len()) {
            self.append(batch)?;
            self.checkpoint(head)?;
            acknowledge(newest);
            return self.wal()?.grow();
        }
        let first = head.seq + 1 - batch.records.len() as u64;
        wal.write(batch.frames(first))?;
        if sync {
            wal.sync()?;
            acknowledge(newest);
        }
        self.append(batch)
    }

    /// The write-ahead log, made if there is none yet. Its name is durable before the first frame is written.
    fn wal(&mut self) -> io::Result<&mut Wal> {
        if let Ahead::NotYet(start) = &self.ahead {
            let wal = Wal::format(self.disk.create(WAL_FILE)?, start)?;
            self.disk.sync_names()?;
            self.ahead = Ahead::Log(wal);
        }
        match &mut self.ahead {
            Ahead::Log(wal) => Ok(wal),
            Ahead::NotYet(_) => Err(io::Error::other("there is no write-ahead log")),
        }
    }

    fn sync_ahead(&mut self) -> io::Result<()> {
        match &mut self.ahead {
            Ahead::Log(wal) => wal.sync(),
            // Nothing was written since the three logs were synced.
            Ahead::NotYet(_) => Ok(()),
        }
    }

    fn append(&mut self, batch: &Batch) -> io::Result<()> {
        for (kind, line) in batch.lines() {
            self.logs[kind.index()].scratch.extend_from_slice(line);
        }
        self.logs.iter_mut().try_for_each(Log::write_scratch)
    }

    fn sync_logs(&mut self) -> io::Result<()> {
        self.logs.iter_mut().try_for_each(Log::sync)
    }

    fn checkpoint(&mut self, head: ChainHead) -> io::Result<()> {
        self.sync_logs()?;
        let lens = [self.logs[0].len, self.logs[1].len, self.logs[2].len];
        self.wal()?.restart(&Checkpoint { head, lens })
    }

    /// Makes the three logs complete on their own and takes the write-ahead log away.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if matches!(self.ahead, Ahead::NotYet(_)) {
            return Ok(());
        }
        self.sync_logs()?;
        self.disk.sync_names()?;
        self.disk.remove(WAL_FILE)?;
        self.disk.sync_names()
    }
}
